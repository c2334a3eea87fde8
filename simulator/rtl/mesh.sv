// The systolic array: operand rows go in at the left, weights at the top, sums come out at the bottom. Both are
// skewed on the way in and straightened on the way out, so that a row of sums leaves 2 * DIM - 1 cycles after its
// row of operands.
module mesh
  import accelerator_pkg::*;
(
    input  logic      clock,
    input  logic      reset,
    input  logic      shift,    // the weights go into the plane that is not in use
    input  logic      plane,    // the plane in use
    input  elements_t a,
    input  elements_t weights,
    output sums_t     sums
);
  typedef struct packed {
    logic shift;
    logic plane;
  } control_t;

  // [row][column]: what enters the processing element from the left and from above
  control_t control[DIM][DIM+1];
  logic signed [7:0] left[DIM][DIM+1];
  logic signed [7:0] weight[DIM+1][DIM];
  logic signed [31:0] sum[DIM+1][DIM];

  for (genvar k = 0; k < DIM; k++) begin : row
    delay #(.CYCLES(k), .T(control_t)) skew_control (.clock, .reset, .in('{shift, plane}), .out(control[k][0]));
    delay #(.CYCLES(k), .T(logic [7:0])) skew_a (.clock, .reset, .in(a[k]), .out(left[k][0]));
    for (genvar j = 0; j < DIM; j++) begin : column
      processing_element element (
          .clock,
          .in_shift(control[k][j].shift), .in_plane(control[k][j].plane), .in_a(left[k][j]),
          .in_weight(weight[k][j]), .in_sum(sum[k][j]),
          .out_shift(control[k][j+1].shift), .out_plane(control[k][j+1].plane), .out_a(left[k][j+1]),
          .out_weight(weight[k+1][j]), .out_sum(sum[k+1][j])
      );
    end
  end

  for (genvar j = 0; j < DIM; j++) begin : edges
    delay #(.CYCLES(j), .T(logic [7:0])) skew_weight (.clock, .reset, .in(weights[j]), .out(weight[0][j]));
    assign sum[0][j] = '0;
    delay #(.CYCLES(DIM - 1 - j), .T(logic [31:0])) straighten (.clock, .reset, .in(sum[DIM][j]), .out(sums[j]));
  end

  // What falls out at the far edges is of no use.
  logic unused;
  always_comb begin
    unused = 0;
    for (int i = 0; i < DIM; i++) unused &= &{control[i][DIM], left[i][DIM], weight[DIM][i]};
  end
endmodule
