// A small weight-stationary accelerator for tests: commands in, a TileLink-UL master behind. Load, execute and
// store run side by side, and the reservation station orders what they do to local rows; only an idle machine
// (`io_busy` low) has all its writes in main memory.
module accelerator
  import accelerator_pkg::*;
(
    input  logic         clock,
    input  logic         reset,

    output logic         io_cmd_ready,
    input  logic         io_cmd_valid,
    input  logic [  6:0] io_cmd_bits_inst_funct,
    input  logic [  4:0] io_cmd_bits_inst_rs2,
    input  logic [  4:0] io_cmd_bits_inst_rs1,
    input  logic         io_cmd_bits_inst_xd,
    input  logic         io_cmd_bits_inst_xs1,
    input  logic         io_cmd_bits_inst_xs2,
    input  logic [  4:0] io_cmd_bits_inst_rd,
    input  logic [  6:0] io_cmd_bits_inst_opcode,
    input  logic [ 63:0] io_cmd_bits_rs1,
    input  logic [ 63:0] io_cmd_bits_rs2,
    input  logic [  1:0] io_cmd_bits_status_dprv,
    input  logic [  1:0] io_cmd_bits_status_prv,
    input  logic         io_resp_ready,
    output logic         io_resp_valid,
    output logic [  4:0] io_resp_bits_rd,
    output logic [ 63:0] io_resp_bits_data,
    output logic         io_busy,
    output logic         io_interrupt,

    input  logic         auto_spad_id_out_a_ready,
    output logic         auto_spad_id_out_a_valid,
    output logic [  2:0] auto_spad_id_out_a_bits_opcode,
    output logic [  2:0] auto_spad_id_out_a_bits_param,
    output logic [  3:0] auto_spad_id_out_a_bits_size,
    output logic [  4:0] auto_spad_id_out_a_bits_source,
    output logic [ 31:0] auto_spad_id_out_a_bits_address,
    output logic [ 15:0] auto_spad_id_out_a_bits_mask,
    output logic [127:0] auto_spad_id_out_a_bits_data,
    output logic         auto_spad_id_out_a_bits_corrupt,
    output logic         auto_spad_id_out_d_ready,
    input  logic         auto_spad_id_out_d_valid,
    input  logic [  2:0] auto_spad_id_out_d_bits_opcode,
    input  logic [  1:0] auto_spad_id_out_d_bits_param,
    input  logic [  3:0] auto_spad_id_out_d_bits_size,
    input  logic [  4:0] auto_spad_id_out_d_bits_source,
    input  logic [  3:0] auto_spad_id_out_d_bits_sink,
    input  logic         auto_spad_id_out_d_bits_denied,
    input  logic [127:0] auto_spad_id_out_d_bits_data,
    input  logic         auto_spad_id_out_d_bits_corrupt,

    input  logic         io_ptw_0_req_ready,
    output logic         io_ptw_0_req_valid,
    output logic [ 26:0] io_ptw_0_req_bits_bits_addr,
    input  logic         io_ptw_0_resp_valid
);
  localparam int UNITS = 3;
  localparam logic [2:0] PUT_FULL = 0, PUT_PARTIAL = 1, GET = 4, ACCESS_ACK_DATA = 1;

  // --- commands: a queue, the decoder at its end, and the pools

  typedef struct packed {
    logic [6:0]  funct;
    logic [63:0] rs1;
    logic [63:0] rs2;
  } raw_command_t;
  raw_command_t raw_in, raw;
  logic front_full, front_valid, front_leaves, allocate_ready;
  command_t decoded;

  assign raw_in = '{io_cmd_bits_inst_funct, io_cmd_bits_rs1, io_cmd_bits_rs2};
  assign front_leaves = front_valid && allocate_ready;
  assign io_cmd_ready = !front_full || front_leaves;
  fifo #(.DEPTH(FRONT_QUEUE), .T(raw_command_t)) front (
      .clock, .reset, .push(io_cmd_valid && io_cmd_ready), .in(raw_in), .full(front_full),
      .valid(front_valid), .out(raw), .pop(front_leaves)
  );
  decoder decoder (
      .clock, .reset, .fire(front_leaves), .funct(raw.funct), .rs1(raw.rs1), .rs2(raw.rs2), .command(decoded)
  );

  logic issue_valid[UNITS], issue_ready[UNITS], done_valid[UNITS];
  command_t issue_command[UNITS];
  slot_t issue_slot[UNITS], done_slot[UNITS];
  logic multiply_done, pools_busy, store_busy;
  slot_t multiply_slot;
  reservation_station pools (
      .clock, .reset, .allocate_valid(front_valid), .allocate_command(decoded), .allocate_ready,
      .issue_valid, .issue_command, .issue_slot, .issue_ready,
      .done_valid, .done_slot, .result_valid(multiply_done), .result_slot(multiply_slot), .busy(pools_busy)
  );
  assign io_busy = front_valid || pools_busy || store_busy;

  // --- units and local memories

  logic get_valid, get_ready, beat_ready, put_valid, put_full;
  address_t get_address, put_address;
  source_t get_source, put_source;
  beat_t put_data;
  beat_mask_t put_mask;
  logic is_beat, is_acknowledge;

  logic spad_write, acc_write, acc_write_granted;
  row_t load_row;
  bytes_t load_data;
  bytes_mask_t load_mask;
  load_unit load (
      .clock, .reset, .command_valid(issue_valid[LOAD]), .command(issue_command[LOAD]), .command_slot(issue_slot[LOAD]),
      .command_ready(issue_ready[LOAD]), .get_valid, .get_address, .get_source, .get_ready,
      .beat_valid(is_beat), .beat_source(auto_spad_id_out_d_bits_source),
      .beat_data(auto_spad_id_out_d_bits_data), .beat_ready,
      .spad_write, .acc_write, .write_row(load_row), .write_data(load_data), .write_mask(load_mask),
      .acc_granted(acc_write_granted), .done_valid(done_valid[LOAD]), .done_slot(done_slot[LOAD])
  );

  logic spad_read[3], spad_granted[3];  // the array's two operands, then moves out
  row_t spad_row[3];
  elements_t spad_data[3];
  logic result, result_adds;
  row_t result_row;
  sums_t result_data;
  logic [DIM-1:0] result_mask;
  execute_unit execute (
      .clock, .reset, .command_valid(issue_valid[EXECUTE]), .command(issue_command[EXECUTE]),
      .command_slot(issue_slot[EXECUTE]), .command_ready(issue_ready[EXECUTE]),
      .a_read(spad_read[0]), .a_row(spad_row[0]), .a_granted(spad_granted[0]), .a_data(spad_data[0]),
      .b_read(spad_read[1]), .b_row(spad_row[1]), .b_granted(spad_granted[1]), .b_data(spad_data[1]),
      .result, .result_adds, .result_row, .result_data, .result_mask,
      .preload_done(done_valid[EXECUTE]), .preload_slot(done_slot[EXECUTE]), .multiply_done, .multiply_slot
  );

  logic acc_read, acc_read_granted;
  row_t store_row;
  sums_t acc_data;
  store_unit store (
      .clock, .reset, .command_valid(issue_valid[STORE]), .command(issue_command[STORE]),
      .command_slot(issue_slot[STORE]), .command_ready(issue_ready[STORE]),
      .spad_read(spad_read[2]), .acc_read, .read_row(store_row), .spad_granted(spad_granted[2]),
      .acc_granted(acc_read_granted), .spad_data(spad_data[2]), .acc_data,
      .put_valid, .put_full, .put_address, .put_source, .put_data, .put_mask, .put_ready(auto_spad_id_out_a_ready),
      .acknowledge_valid(is_acknowledge),
      .acknowledge_source(auto_spad_id_out_d_bits_source - source_t'(LOAD_REQUESTS)),
      .done_valid(done_valid[STORE]), .done_slot(done_slot[STORE]), .busy(store_busy)
  );
  assign spad_row[2] = store_row;

  scratchpad spad (
      .clock, .write(spad_write), .write_row(load_row), .write_data(load_data[DIM-1:0]),
      .write_mask(load_mask[DIM-1:0]), .read(spad_read), .read_row(spad_row), .granted(spad_granted),
      .read_data(spad_data)
  );
  accumulator acc (
      .clock, .result, .result_adds, .result_row, .result_data, .result_mask,
      .write(acc_write), .write_row(load_row), .write_data(load_data), .write_mask(load_mask),
      .write_granted(acc_write_granted), .read(acc_read), .read_row(store_row),
      .read_granted(acc_read_granted), .read_data(acc_data)
  );

  // --- the memory port: writes come first. Sources below LOAD_REQUESTS are reads.

  assign get_ready = auto_spad_id_out_a_ready && !put_valid;
  assign auto_spad_id_out_a_valid = put_valid || get_valid;
  assign auto_spad_id_out_a_bits_opcode = !put_valid ? GET : put_full ? PUT_FULL : PUT_PARTIAL;
  assign auto_spad_id_out_a_bits_param = '0;
  assign auto_spad_id_out_a_bits_size = 4'($clog2(BEAT_BYTES));
  assign auto_spad_id_out_a_bits_source = put_valid ? put_source + source_t'(LOAD_REQUESTS) : get_source;
  assign auto_spad_id_out_a_bits_address = put_valid ? put_address : get_address;
  assign auto_spad_id_out_a_bits_mask = put_valid ? put_mask : '1;
  assign auto_spad_id_out_a_bits_data = put_data;
  assign auto_spad_id_out_a_bits_corrupt = 0;

  assign is_beat = auto_spad_id_out_d_valid && auto_spad_id_out_d_bits_opcode == ACCESS_ACK_DATA;
  assign is_acknowledge = auto_spad_id_out_d_valid && auto_spad_id_out_d_bits_opcode != ACCESS_ACK_DATA;
  assign auto_spad_id_out_d_ready = auto_spad_id_out_d_bits_opcode != ACCESS_ACK_DATA || beat_ready;

  // --- what the port has and this machine does not: answers, interrupts, virtual addresses

  assign io_resp_valid = 0;
  assign io_resp_bits_rd = '0;
  assign io_resp_bits_data = '0;
  assign io_interrupt = 0;
  assign io_ptw_0_req_valid = 0;
  assign io_ptw_0_req_bits_bits_addr = '0;

  logic unused;
  assign unused = &{1'b0, io_cmd_bits_inst_rs2, io_cmd_bits_inst_rs1, io_cmd_bits_inst_xd, io_cmd_bits_inst_xs1,
      io_cmd_bits_inst_xs2, io_cmd_bits_inst_rd, io_cmd_bits_inst_opcode,
      io_cmd_bits_status_dprv, io_cmd_bits_status_prv, io_resp_ready,
      auto_spad_id_out_d_bits_param, auto_spad_id_out_d_bits_size, auto_spad_id_out_d_bits_sink,
      auto_spad_id_out_d_bits_denied, auto_spad_id_out_d_bits_corrupt, io_ptw_0_req_ready, io_ptw_0_resp_valid};
endmodule
