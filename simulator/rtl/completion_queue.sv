// Commands of a unit that are done and wait for their pool entry to be freed; two may arrive in a cycle.
module completion_queue
  import accelerator_pkg::*;
#(
    parameter int DEPTH = 4
) (
    input  logic  clock,
    input  logic  reset,
    input  logic  first_valid,
    input  slot_t first_slot,
    input  logic  second_valid,  // behind the first
    input  slot_t second_slot,
    output logic  valid,
    output slot_t slot,
    input  logic  pop
);
  localparam int COUNT_WIDTH = $clog2(DEPTH + 1);
  slot_t slots[DEPTH], shifted[DEPTH];
  logic [COUNT_WIDTH-1:0] count, left, after_first;

  assign valid = count != 0;
  assign slot = slots[0];
  assign left = count - COUNT_WIDTH'(pop);
  assign after_first = left + COUNT_WIDTH'(first_valid);
  always_comb for (int i = 0; i < DEPTH; i++) shifted[i] = pop && i + 1 < DEPTH ? slots[i+1] : slots[i];

  always_ff @(posedge clock) begin
    for (int i = 0; i < DEPTH; i++) begin
      slots[i] <= shifted[i];
      if (first_valid && left == COUNT_WIDTH'(i)) slots[i] <= first_slot;
      if (second_valid && after_first == COUNT_WIDTH'(i)) slots[i] <= second_slot;
    end
    count <= reset ? '0 : after_first + COUNT_WIDTH'(second_valid);
  end
endmodule
