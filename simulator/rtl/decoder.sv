// Turns the two operands of a command into what units work on. Configuration takes effect here, in program order.
module decoder
  import accelerator_pkg::*;
(
    input  logic        clock,
    input  logic        reset,
    input  logic        fire,   // the command leaves the front queue
    input  logic [ 6:0] funct,
    input  logic [63:0] rs1,
    input  logic [63:0] rs2,
    output command_t    command
);
  localparam logic [6:0] CONFIGURE = 0, MOVE_IN_1 = 1, MOVE_IN_0 = 2, MOVE_OUT = 3, COMPUTE_PRELOADED = 4,
      COMPUTE_ACCUMULATED = 5, PRELOAD = 6, MOVE_IN_2 = 14;
  localparam logic [1:0] OF_EXECUTE = 0, OF_LOAD = 1, OF_STORE = 2;

  // How operands are packed: rows, columns and a local address.
  typedef struct packed {
    logic [15:0] rows;
    logic [15:0] cols;
    logic is_acc;
    logic accumulate;
    logic full;
    logic [28:0] row;
  } operand_t;

  address_t load_stride[3];
  address_t store_stride;
  logic store_relu;
  logic [31:0] store_scale;
  row_t a_step, c_step;
  struct packed {  // of the next multiply, by the preload before it
    logic accumulate;
    row_t row;
    count_t rows;
    count_t cols;
  } result;

  operand_t first, second;
  logic is_move_in;
  logic [1:0] load_id;

  assign first = rs1;
  assign second = rs2;
  assign is_move_in = funct inside {MOVE_IN_0, MOVE_IN_1, MOVE_IN_2};
  assign load_id = funct == MOVE_IN_0 ? 2'd0 : funct == MOVE_IN_1 ? 2'd1 : 2'd2;

  always_comb begin
    operand_t local_operand;
    local_operand = is_move_in || funct == MOVE_OUT ? second : first;
    command = '0;
    // Flushes, and what this machine does not know, are done when they leave the queue.
    command.kind = IMMEDIATE;
    command.is_acc = local_operand.is_acc;
    command.absent = &local_operand[31:0];
    command.full = local_operand.full;
    command.row = row_t'(local_operand.row);
    command.rows = count_t'(local_operand.rows);
    command.cols = count_t'(local_operand.cols);
    command.step = 1;
    command.address = address_t'(rs1);
    if (is_move_in) begin
      command.kind = LOAD;
      command.stride = load_stride[load_id];
    end
    if (funct == MOVE_OUT) begin
      command.kind = STORE;
      command.stride = store_stride;
      command.relu = store_relu;
      command.scale = store_scale;
    end
    if (funct == PRELOAD) command.kind = EXECUTE;
    if (funct == COMPUTE_PRELOADED || funct == COMPUTE_ACCUMULATED) begin
      command.kind = EXECUTE;
      command.step = a_step;
      command.multiply = 1;
      command.flip = funct == COMPUTE_PRELOADED;
      command.accumulate = result.accumulate;
      command.result_row = result.row;
      command.result_step = c_step;
      command.result_rows = result.rows;
      command.result_cols = result.cols;
    end
  end

  always_ff @(posedge clock) begin
    if (fire && funct == PRELOAD)
      result <= '{second.accumulate, row_t'(second.row), count_t'(second.rows), count_t'(second.cols)};
    if (fire && funct == CONFIGURE) begin
      case (rs1[1:0])
        OF_EXECUTE: begin
          a_step <= row_t'(rs1[31:16]);
          c_step <= row_t'(rs2[63:48]);
        end
        OF_LOAD: load_stride[rs1[4:3] == 2'd3 ? 2'd2 : rs1[4:3]] <= address_t'(rs2);
        OF_STORE: begin
          store_stride <= rs2[31:0];
          store_relu <= rs1[2];
          store_scale <= rs2[63:32];
        end
        default: ;
      endcase
    end
    if (reset) begin
      a_step <= 1;
      c_step <= 1;
      store_relu <= 0;
      store_scale <= 32'h3f80_0000;
    end
  end
endmodule
