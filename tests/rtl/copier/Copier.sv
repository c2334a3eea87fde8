// The least that has a command port, a TileLink-UL master and a memory macro: reads a block of 16 bytes, keeps it in
// the macro, adds a number to each byte, and writes it. A queue of one command.
module Copier (
    input                clock,
    input                reset,
    input                auto_id_out_a_ready,
    output               auto_id_out_a_valid,
    output [2:0]         auto_id_out_a_bits_opcode,
    output [3:0]         auto_id_out_a_bits_size,
    output [4:0]         auto_id_out_a_bits_source,
    output [31:0]        auto_id_out_a_bits_address,
    output [15:0]        auto_id_out_a_bits_mask,
    output [127:0]       auto_id_out_a_bits_data,
    output               auto_id_out_d_ready,
    input                auto_id_out_d_valid,
    input  [2:0]         auto_id_out_d_bits_opcode,
    input  [3:0]         auto_id_out_d_bits_size,
    input  [4:0]         auto_id_out_d_bits_source,
    input  [127:0]       auto_id_out_d_bits_data,
    output               io_cmd_ready,
    input                io_cmd_valid,
    input  [6:0]         io_cmd_bits_inst_funct,
    input  [4:0]         io_cmd_bits_inst_rs1,
    input  [63:0]        io_cmd_bits_rs1,
    input  [63:0]        io_cmd_bits_rs2,
    input  [1:0]         io_cmd_bits_status_prv,
    output               io_busy
);
  localparam IDLE = 3'd0, ASK = 3'd1, TAKE = 3'd2, LOOK = 3'd3, PUT = 3'd4, WAIT = 3'd5;
  reg [2:0] state;
  reg [31:0] source, target;
  reg [7:0] amount;
  wire [127:0] kept, sum;

  genvar lane;
  generate
    for (lane = 0; lane < 16; lane = lane + 1) begin : lanes
      assign sum[8*lane+:8] = kept[8*lane+:8] + amount;
    end
  endgenerate

  line_ext line (
      .RW0_addr (2'd1),
      .RW0_clk  (clock),
      .RW0_en   (state == LOOK || (state == TAKE && auto_id_out_d_valid)),
      .RW0_wmode(state == TAKE),
      .RW0_wmask(16'hFFFF),
      .RW0_wdata(auto_id_out_d_bits_data),
      .RW0_rdata(kept)
  );

  assign io_cmd_ready = state == IDLE;
  assign io_busy = state != IDLE;
  assign auto_id_out_a_valid = state == ASK || state == PUT;
  assign auto_id_out_a_bits_opcode = state == ASK ? 3'd4 : 3'd0;
  assign auto_id_out_a_bits_size = 4'd4;
  assign auto_id_out_a_bits_source = 5'd7;
  assign auto_id_out_a_bits_address = state == ASK ? source : target;
  assign auto_id_out_a_bits_mask = 16'hFFFF;
  assign auto_id_out_a_bits_data = sum;
  assign auto_id_out_d_ready = 1'b1;

  always @(posedge clock) begin
    case (state)
      IDLE:
        if (io_cmd_valid && io_cmd_bits_inst_funct == 7'd1 && io_cmd_bits_status_prv == 2'd3) begin
          source <= io_cmd_bits_rs1[31:0];
          amount <= io_cmd_bits_rs1[63:56];
          target <= io_cmd_bits_rs2[31:0];
          state  <= ASK;
        end
      ASK: if (auto_id_out_a_ready) state <= TAKE;
      TAKE: if (auto_id_out_d_valid) state <= LOOK;
      LOOK: state <= PUT;
      PUT: if (auto_id_out_a_ready) state <= WAIT;
      default: if (auto_id_out_d_valid) state <= IDLE;
    endcase
    if (reset) state <= IDLE;
  end
endmodule
