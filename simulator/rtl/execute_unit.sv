// Runs preloads and multiplies: one row of each operand a step, read from the scratchpad. A preload runs beside
// the multiply before it; one that has none before it waits for its own. Operands whose bank is taken hold up the
// step, and results follow their step by a fixed time.
module execute_unit
  import accelerator_pkg::*;
#(
    parameter int QUEUE = 4
) (
    input  logic      clock,
    input  logic      reset,
    input  logic      command_valid,
    input  command_t  command,
    input  slot_t     command_slot,
    output logic      command_ready,
    output logic      a_read,
    output row_t      a_row,
    input  logic      a_granted,
    input  elements_t a_data,
    output logic      b_read,
    output row_t      b_row,
    input  logic      b_granted,
    input  elements_t b_data,
    output logic      result,
    output logic      result_adds,
    output row_t      result_row,
    output sums_t     result_data,
    output logic [DIM-1:0] result_mask,
    output logic      preload_done,
    output slot_t     preload_slot,
    output logic      multiply_done,
    output slot_t     multiply_slot
);
  localparam int LATENCY = 2 * DIM;  // cycles from a step to its results: a register for the operands, and the array

  // --- the queue, of which the first two commands are looked at

  localparam int COUNT_WIDTH = $clog2(QUEUE + 1);
  typedef struct packed {
    command_t command;
    slot_t    slot;
  } item_t;
  typedef logic [COUNT_WIDTH-1:0] queue_count_t;
  item_t items[QUEUE];
  queue_count_t count, popped, left;
  logic push;

  assign command_ready = count != queue_count_t'(QUEUE);
  assign push = command_valid && command_ready;
  assign left = count - popped;

  always_ff @(posedge clock) begin
    for (int i = 0; i < QUEUE; i++) begin
      if (i + int'(popped) < QUEUE) items[i] <= items[i+int'(popped)];
      if (push && left == queue_count_t'(i)) items[i] <= '{command, command_slot};
    end
    count <= reset ? '0 : left + queue_count_t'(push);
  end

  // --- what runs: the multiply at the head, the preload at the head or behind it, or both

  logic running, beside, with_preload, active, last_step, step, loads, plane;
  item_t head, other;
  count_t row, rows;

  assign head = items[0];
  assign with_preload = !head.command.multiply || (running ? beside : count > 1 && !items[1].command.multiply);
  assign other = head.command.multiply ? items[1] : head;
  assign active = running || (head.command.multiply ? count != 0 : count > 1);
  assign loads = with_preload && !other.command.absent;  // all rows of a plane, those beyond the operand as zeros
  assign rows = loads ? count_t'(DIM) : head.command.multiply ? head.command.rows : count_t'(1);
  assign last_step = step && row + 1'b1 == rows;
  assign popped = !last_step ? '0 : head.command.multiply && with_preload ? queue_count_t'(2) : queue_count_t'(1);

  // --- operands of a step; weights go in from their last row on, since they shift down

  logic a_needed, b_needed, a_here, b_here;  // here: read in an earlier cycle of this step
  count_t weight_row;
  elements_t a, b;

  assign weight_row = count_t'(DIM - 1) - row;
  assign a_needed = head.command.multiply && row < head.command.rows;
  assign b_needed = loads && weight_row < other.command.rows;
  assign a_row = head.command.row + row_t'(row) * head.command.step;
  assign b_row = other.command.row + row_t'(weight_row);
  assign a_read = active && a_needed && !a_here;
  assign b_read = active && b_needed && !b_here;
  assign step = active && (!a_needed || a_here || a_granted) && (!b_needed || b_here || b_granted);

  function automatic elements_t keep(elements_t data, count_t cols);
    for (int c = 0; c < DIM; c++) keep[c] = count_t'(c) < cols ? data[c] : '0;
  endfunction

  always_ff @(posedge clock) begin
    if (a_granted) a <= keep(a_data, head.command.cols);
    else if (step && !a_needed) a <= '0;
    if (b_granted) b <= keep(b_data, other.command.cols);
    else if (step && !b_needed) b <= '0;
    a_here <= !step && (a_here || a_granted);
    b_here <= !step && (b_here || b_granted);
    if (step) row <= last_step ? '0 : row + 1'b1;
    running <= active && !last_step;
    if (!running) beside <= with_preload;
    if (reset) begin
      a_here <= 0;
      b_here <= 0;
      row <= '0;
      running <= 0;
    end
  end

  // --- the array

  logic flipped;  // the plane in use after the last multiply
  logic stepped, shift_step, plane_step;
  assign plane = flipped ^ (head.command.multiply && head.command.flip);
  always_ff @(posedge clock) begin
    if (last_step) flipped <= plane;
    stepped <= step && !reset;
    shift_step <= loads;
    plane_step <= plane;
    if (reset) flipped <= 0;
  end
  mesh array (.clock, .reset, .shift(stepped && shift_step), .plane(plane_step), .a, .weights(b), .sums(result_data));

  // --- where results go

  typedef struct packed {
    logic   valid;
    logic   adds;
    row_t   row;
    count_t cols;
    logic   done;
    slot_t  slot;
  } tag_t;
  tag_t tag_in, tag_before, tag_out;
  assign tag_in = '{
      valid: step && head.command.multiply && row < head.command.result_rows, adds: head.command.accumulate,
      row: head.command.result_row + row_t'(row) * head.command.result_step, cols: head.command.result_cols,
      done: last_step && head.command.multiply, slot: head.slot};
  delay #(.CYCLES(LATENCY - 1), .T(tag_t)) tags (.clock, .reset, .in(tag_in), .out(tag_before));
  delay #(.CYCLES(1), .T(tag_t)) last_tag (.clock, .reset, .in(tag_before), .out(tag_out));

  assign result = tag_out.valid;
  assign result_adds = tag_out.adds;
  assign result_row = tag_out.row;
  always_comb for (int c = 0; c < DIM; c++) result_mask[c] = count_t'(c) < tag_out.cols;

  // A multiply is done with its last result, a preload with its last step.
  assign multiply_done = tag_before.done;
  assign multiply_slot = tag_before.slot;
  assign preload_done = last_step && with_preload;
  assign preload_slot = other.slot;

  logic unused;
  assign unused = &{1'b0, tag_out.done, tag_out.slot};
endmodule
