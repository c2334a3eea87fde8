// One multiply-accumulator with two planes of weights. The plane that is not in use shifts down while the other
// multiplies; which one that is travels with the operands, so that planes change without a bubble.
module processing_element
  import accelerator_pkg::*;
(
    input  logic               clock,
    input  logic               in_shift,
    input  logic               in_plane,
    input  logic signed [ 7:0] in_a,
    input  logic signed [ 7:0] in_weight,
    input  logic signed [31:0] in_sum,
    output logic               out_shift,
    output logic               out_plane,
    output logic signed [ 7:0] out_a,
    output logic signed [ 7:0] out_weight,
    output logic signed [31:0] out_sum
);
  logic signed [7:0] weights[2];

  always_ff @(posedge clock) begin
    out_shift <= in_shift;
    out_plane <= in_plane;
    out_a <= in_a;
    out_sum <= in_sum + 32'(in_a * weights[in_plane]);
    out_weight <= weights[!in_plane];
    if (in_shift) weights[!in_plane] <= in_weight;
  end
endmodule
