// A signal some cycles later; nothing comes out of reset.
module delay #(
    parameter int CYCLES = 1,
    parameter type T = logic
) (
    input  logic clock,
    input  logic reset,
    input  T     in,
    output T     out
);
  if (CYCLES == 0) begin : wires
    logic unused;
    assign unused = &{1'b0, clock, reset};
    assign out = in;
  end else begin : registers
    T stages[CYCLES];
    assign out = stages[CYCLES-1];
    always_ff @(posedge clock) begin
      for (int i = 0; i < CYCLES; i++) stages[i] <= reset ? T'(0) : i == 0 ? in : stages[i-1];
    end
  end
endmodule
