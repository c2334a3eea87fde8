// A queue. What is pushed in one cycle is at its head in the next at the earliest; a push into a full queue needs
// a pop in the same cycle.
module fifo #(
    parameter int DEPTH = 4,
    parameter type T = logic
) (
    input  logic clock,
    input  logic reset,
    input  logic push,
    input  T     in,
    output logic full,
    output logic valid,
    output T     out,
    input  logic pop
);
  localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  typedef logic [INDEX_BITS-1:0] index_t;

  T slots[DEPTH];
  index_t head, tail;
  logic [$clog2(DEPTH+1)-1:0] count;

  function automatic index_t next(index_t index);
    return index == index_t'(DEPTH - 1) ? '0 : index + 1'b1;
  endfunction

  assign valid = count != 0;
  assign full = count == ($bits(count))'(DEPTH);
  assign out = slots[head];

  always_ff @(posedge clock) begin
    if (push) begin
      slots[tail] <= in;
      tail <= next(tail);
    end
    if (pop) head <= next(head);
    count <= count + ($bits(count))'(push) - ($bits(count))'(pop);
    if (reset) begin
      head <= '0;
      tail <= '0;
      count <= '0;
    end
  end
endmodule
