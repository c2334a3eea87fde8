// Moves local rows to main memory: reads a row a cycle, scales sums to elements, and writes rows as masked beats.
// As many rows are on the way as there are places for them at its end, so that a row that has been read never
// waits in the scaler.
module store_unit
  import accelerator_pkg::*;
#(
    parameter int QUEUE = 2,     // issued commands that are not all read
    parameter int ROW_QUEUE = 6  // rows read and not yet with the writer
) (
    input  logic       clock,
    input  logic       reset,
    input  logic       command_valid,
    input  command_t   command,
    input  slot_t      command_slot,
    output logic       command_ready,
    output logic       spad_read,
    output logic       acc_read,
    output row_t       read_row,
    input  logic       spad_granted,
    input  logic       acc_granted,
    input  elements_t  spad_data,
    input  sums_t      acc_data,
    output logic       put_valid,
    output logic       put_full,    // the mask is all ones
    output address_t   put_address,
    output source_t    put_source,  // counts from 0
    output beat_t      put_data,
    output beat_mask_t put_mask,
    input  logic       put_ready,
    input  logic       acknowledge_valid,
    input  source_t    acknowledge_source,
    output logic       done_valid,
    output slot_t      done_slot,
    output logic       busy
);
  typedef logic [$clog2(STORE_REQUESTS)-1:0] request_t;

  typedef struct packed {
    command_t command;
    slot_t    slot;
  } item_t;
  typedef enum logic [1:0] {ELEMENTS, SUMS, SCALED} form_t;
  typedef struct packed {  // a row on its way
    form_t    form;
    address_t address;
    length_t  bytes;
  } row_info_t;
  typedef struct packed {
    row_info_t info;
    bytes_t    data;
  } out_row_t;

  // --- reading

  item_t head;
  logic queue_full, head_valid, head_done, row_read;
  count_t row_index;
  address_t row_offset;
  logic [$clog2(ROW_QUEUE+1)-1:0] held;  // rows read that the writer has not taken
  logic writer_takes;
  form_t form;
  row_info_t info;

  assign command_ready = !queue_full;
  fifo #(.DEPTH(QUEUE), .T(item_t)) queue (
      .clock, .reset, .push(command_valid && command_ready), .in('{command, command_slot}), .full(queue_full),
      .valid(head_valid), .out(head), .pop(head_done)
  );

  logic room;
  assign room = 32'(held) < ROW_QUEUE;
  assign spad_read = head_valid && room && !head.command.is_acc;
  assign acc_read = head_valid && room && head.command.is_acc;
  assign read_row = head.command.row + row_t'(row_index);
  assign row_read = (spad_read && spad_granted) || (acc_read && acc_granted);
  assign head_done = row_read && row_index + 1'b1 == head.command.rows;
  assign done_valid = head_done;
  assign done_slot = head.slot;
  assign form = !head.command.is_acc ? ELEMENTS : head.command.full ? SUMS : SCALED;
  assign info = '{
      form: form, address: head.command.address + row_offset,
      bytes: form == SUMS ? length_t'(head.command.cols) << 2 : length_t'(head.command.cols)};

  // --- scaling: a cycle to the product, a cycle to the result

  logic read_valid, product_valid, relu;
  row_info_t read_info, product_info;
  bytes_t read_data, product_data;
  logic [31:0] scale;
  elements_t scaled;
  out_row_t row_in, row_out;
  logic row_valid, unused_full;

  always_ff @(posedge clock) begin
    read_valid <= row_read && !reset;
    read_info <= info;
    read_data <= head.command.is_acc ? acc_data : bytes_t'(spad_data);
    relu <= head.command.relu;
    scale <= head.command.scale;
    product_valid <= read_valid && !reset;
    product_info <= read_info;
    product_data <= read_data;
  end
  for (genvar c = 0; c < DIM; c++) begin : lane
    scaler scaler (.clock, .sum(read_data[4*c+:4]), .relu, .scale, .scaled(scaled[c]));
  end
  assign row_in = '{product_info, product_info.form == SCALED ? bytes_t'(scaled) : product_data};
  fifo #(.DEPTH(ROW_QUEUE), .T(out_row_t)) rows (
      .clock, .reset, .push(product_valid), .in(row_in), .full(unused_full),
      .valid(row_valid), .out(row_out), .pop(writer_takes)
  );

  // --- writing: the bytes of a row in as many aligned beats as they touch

  out_row_t current;
  bytes_t unsent;
  logic current_valid, put_fire, row_done;
  length_t sent, left, room_in_beat, useful;
  address_t first_byte;
  logic [OFFSET_BITS-1:0] skip;
  logic [STORE_REQUESTS-1:0] outstanding;
  request_t free_request;

  always_comb begin
    free_request = '0;
    for (int i = STORE_REQUESTS - 1; i >= 0; i--) if (!outstanding[i]) free_request = request_t'(i);
  end
  assign first_byte = current.info.address + address_t'(sent);
  assign skip = first_byte[OFFSET_BITS-1:0];
  assign left = current.info.bytes - sent;
  assign room_in_beat = length_t'(BEAT_BYTES) - length_t'(skip);
  assign useful = left < room_in_beat ? left : room_in_beat;
  assign put_valid = current_valid && !(&outstanding);
  assign put_address = {first_byte[ADDRESS_BITS-1:OFFSET_BITS], OFFSET_BITS'(0)};
  assign put_source = source_t'(free_request);
  assign unsent = current.data >> {sent, 3'b0};
  assign put_data = beat_t'(unsent) << {skip, 3'b0};
  assign put_mask = ((beat_mask_t'(1) << useful) - 1'b1) << skip;
  assign put_full = &put_mask;
  assign put_fire = put_valid && put_ready;
  assign row_done = put_fire && useful == left;
  assign writer_takes = row_valid && (!current_valid || row_done);
  assign busy = head_valid || held != 0 || current_valid || outstanding != '0;

  always_ff @(posedge clock) begin
    if (row_read) begin
      row_index <= head_done ? '0 : row_index + 1'b1;
      row_offset <= head_done ? '0 : row_offset + head.command.stride;
    end
    held <= held + ($bits(held))'(row_read) - ($bits(held))'(writer_takes);
    if (writer_takes) current <= row_out;
    current_valid <= writer_takes || (current_valid && !row_done);
    if (put_fire) begin
      sent <= row_done ? '0 : sent + useful;
      outstanding[free_request] <= 1;
    end
    if (acknowledge_valid) outstanding[request_t'(acknowledge_source)] <= 0;
    if (reset) begin
      row_index <= '0;
      row_offset <= '0;
      held <= '0;
      current_valid <= 0;
      sent <= '0;
      outstanding <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_full, row_out.info.form, current.info.form, acknowledge_source, unsent};
endmodule
