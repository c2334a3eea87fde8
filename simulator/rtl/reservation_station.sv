// Pools of commands from allocation to completion, one for each unit. A command waits for older ones of other
// units whose local rows it overlaps, if either writes; its own unit takes commands in order. One command issues
// to each unit and one completes a cycle.
module reservation_station
  import accelerator_pkg::*;
#(
    parameter int UNITS = 3
) (
    input  logic     clock,
    input  logic     reset,
    input  logic     allocate_valid,
    input  command_t allocate_command,
    output logic     allocate_ready,
    output logic     issue_valid[UNITS],
    output command_t issue_command[UNITS],
    output slot_t    issue_slot[UNITS],
    input  logic     issue_ready[UNITS],
    // Two commands of the array may be done in one cycle: a preload, and an older multiply.
    input  logic     done_valid[UNITS],
    input  slot_t    done_slot[UNITS],
    input  logic     result_valid,
    input  slot_t    result_slot,
    output logic     busy
);
  localparam int FIRST[UNITS] = '{0, LOAD_ENTRIES, LOAD_ENTRIES + EXECUTE_ENTRIES};
  localparam int COUNT[UNITS] = '{LOAD_ENTRIES, EXECUTE_ENTRIES, STORE_ENTRIES};
  typedef logic [ENTRIES-1:0] slots_t;

  command_t commands[ENTRIES];
  slots_t occupied;
  slots_t waits_for[ENTRIES];

  // Rows first to last of a memory.
  typedef struct packed {
    logic valid;
    logic is_acc;
    row_t first;
    row_t last;
  } range_t;

  range_t operand, result, reads, writes;  // of the command to be allocated
  range_t reads_of[ENTRIES], writes_of[ENTRIES];

  assign operand = '{
      valid: !allocate_command.absent, is_acc: allocate_command.is_acc, first: allocate_command.row,
      last: allocate_command.row + (row_t'(allocate_command.rows) - 1'b1) * allocate_command.step};
  assign result = '{
      valid: allocate_command.multiply, is_acc: 1'b1, first: allocate_command.result_row,
      last: allocate_command.result_row
          + (row_t'(allocate_command.result_rows) - 1'b1) * allocate_command.result_step};
  assign reads = allocate_command.kind == LOAD ? '0 : operand;
  assign writes = allocate_command.kind == LOAD ? operand : result;

  function automatic logic overlap(range_t a, range_t b);
    return a.valid && b.valid && a.is_acc == b.is_acc && a.first <= b.last && b.first <= a.last;
  endfunction

  // --- allocation: the lowest free entry of the unit's pool

  slots_t pool, free, hazards, chosen;
  slot_t slot;
  logic allocate;

  always_comb begin
    pool = '0;
    for (int u = 0; u < UNITS; u++)
      for (int i = 0; i < COUNT[u]; i++) pool[FIRST[u]+i] = allocate_command.kind == unit_t'(u);
    free = pool & ~occupied;
    slot = '0;
    for (int i = ENTRIES - 1; i >= 0; i--) if (free[i]) slot = slot_t'(i);
    for (int i = 0; i < ENTRIES; i++)
      hazards[i] = occupied[i] && !pool[i]
          && (overlap(reads, writes_of[i]) || overlap(writes, reads_of[i]) || overlap(writes, writes_of[i]));
  end
  assign allocate_ready = allocate_command.kind == IMMEDIATE || |free;
  assign allocate = allocate_valid && allocate_command.kind != IMMEDIATE && |free;
  assign chosen = allocate ? slots_t'(1) << slot : '0;

  // --- issue: the oldest of each pool, when it waits for none and the unit has room

  for (genvar u = 0; u < UNITS; u++) begin : unissued
    logic waiting, taken, unused_full;
    slot_t oldest;
    fifo #(.DEPTH(COUNT[u]), .T(slot_t)) order (
        .clock, .reset,
        .push(allocate && allocate_command.kind == unit_t'(u)), .in(slot), .full(unused_full),
        .valid(waiting), .out(oldest), .pop(taken)
    );
    assign issue_valid[u] = waiting && waits_for[oldest] == '0;
    assign issue_command[u] = commands[oldest];
    assign issue_slot[u] = oldest;
    assign taken = issue_valid[u] && issue_ready[u];
  end

  // --- completion: the array's first, then moves in, then moves out

  logic done_waiting[UNITS], retire[UNITS];
  slot_t done_oldest[UNITS];
  slots_t retired;

  assign retire[EXECUTE] = done_waiting[EXECUTE];
  assign retire[LOAD] = done_waiting[LOAD] && !done_waiting[EXECUTE];
  assign retire[STORE] = done_waiting[STORE] && !done_waiting[EXECUTE] && !done_waiting[LOAD];
  always_comb begin
    retired = '0;
    for (int u = 0; u < UNITS; u++) if (retire[u]) retired |= slots_t'(1) << done_oldest[u];
  end

  for (genvar u = 0; u < UNITS; u++) begin : completing
    completion_queue #(.DEPTH(COUNT[u])) queue (
        .clock, .reset,
        .first_valid(done_valid[u]), .first_slot(done_slot[u]),
        .second_valid(u == int'(EXECUTE) && result_valid), .second_slot(result_slot),
        .valid(done_waiting[u]), .slot(done_oldest[u]), .pop(retire[u])
    );
  end

  always_ff @(posedge clock) begin
    occupied <= (occupied | chosen) & ~retired;
    for (int i = 0; i < ENTRIES; i++) waits_for[i] <= waits_for[i] & ~retired;
    if (allocate) begin
      commands[slot] <= allocate_command;
      reads_of[slot] <= reads;
      writes_of[slot] <= writes;
      waits_for[slot] <= hazards & ~retired;
    end
    if (reset) occupied <= '0;
  end
  assign busy = |occupied;
endmodule
