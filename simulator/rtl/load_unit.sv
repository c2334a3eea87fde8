// Moves rows from main memory into local rows. A row a cycle is asked for, as reads of single aligned beats; a
// beat that comes back is written, with a mask, into the row that its source number stands for. A stride of 0 asks for
// one row and writes it to all.
module load_unit
  import accelerator_pkg::*;
#(
    parameter int QUEUE = 2,       // issued commands whose rows are not all asked for
    parameter int ROW_QUEUE = 4,   // rows to be asked for
    parameter int IN_FLIGHT = 2,   // commands between their first row and their completion
    parameter int WRITE_QUEUE = 3  // writes of beats that came and are not made
) (
    input  logic        clock,
    input  logic        reset,
    input  logic        command_valid,
    input  command_t    command,
    input  slot_t       command_slot,
    output logic        command_ready,
    output logic        get_valid,
    output address_t    get_address,
    output source_t     get_source,
    input  logic        get_ready,
    input  logic        beat_valid,
    input  source_t     beat_source,
    input  beat_t       beat_data,
    output logic        beat_ready,
    output logic        spad_write,
    output logic        acc_write,
    output row_t        write_row,
    output bytes_t      write_data,
    output bytes_mask_t write_mask,
    input  logic        acc_granted,
    output logic        done_valid,
    output slot_t       done_slot
);
  typedef logic [$clog2(LOAD_ENTRIES)-1:0] entry_t;
  typedef logic [$clog2(LOAD_REQUESTS)-1:0] request_t;

  typedef struct packed {
    command_t command;
    entry_t   entry;
  } item_t;
  typedef struct packed {  // a row to be asked for
    entry_t   entry;
    logic     last;      // of its command
    logic     is_acc;
    row_t     row;
    count_t   copies;    // local rows from `row` on that it is written to
    address_t address;
    length_t  bytes;
  } row_request_t;
  typedef struct packed {  // what a source number stands for
    entry_t  entry;
    logic    is_acc;
    row_t    row;
    count_t  copies;
    length_t position;  // of the first byte in the local row
    logic [OFFSET_BITS-1:0] skip;  // bytes of the beat in front of it
    length_t bytes;
  } target_t;
  typedef struct packed {
    entry_t      entry;
    logic        is_acc;
    row_t        row;
    count_t      copies;
    bytes_t      data;
    bytes_mask_t mask;
  } write_t;

  // --- commands to rows

  item_t item, head;
  logic queue_full, head_valid, head_done;
  logic rows_full, row_step;
  row_request_t row_in, row_out;
  logic broadcast;
  logic row_valid, row_done;
  count_t row_index;
  address_t row_offset;
  logic [$clog2(IN_FLIGHT+1)-1:0] in_flight;

  assign item = '{command, entry_t'(command_slot)};
  assign command_ready = !queue_full;
  fifo #(.DEPTH(QUEUE), .T(item_t)) queue (
      .clock, .reset, .push(command_valid && command_ready), .in(item), .full(queue_full),
      .valid(head_valid), .out(head), .pop(head_done)
  );

  // The place of a command that leaves is free in the next cycle.
  assign row_step = head_valid && !rows_full && (row_index != 0 || 32'(in_flight) < IN_FLIGHT);
  assign head_done = row_step && row_in.last;
  assign broadcast = head.command.stride == '0;
  assign row_in = '{
      entry: head.entry, last: broadcast || row_index + 1'b1 == head.command.rows, is_acc: head.command.is_acc,
      row: head.command.row + row_t'(row_index), copies: broadcast ? head.command.rows : count_t'(1),
      address: head.command.address + row_offset,
      bytes: head.command.is_acc ? length_t'(head.command.cols) << 2 : length_t'(head.command.cols)};
  fifo #(.DEPTH(ROW_QUEUE), .T(row_request_t)) row_requests (
      .clock, .reset, .push(row_step), .in(row_in), .full(rows_full),
      .valid(row_valid), .out(row_out), .pop(row_done)
  );

  // --- rows to reads of aligned beats

  target_t targets[LOAD_REQUESTS];
  logic [LOAD_REQUESTS-1:0] outstanding;
  request_t free_request;
  logic get_fire;
  target_t target;
  length_t asked;  // bytes of the row, so far
  length_t room;   // bytes of the beat that may be of this row
  address_t first_byte;
  logic [OFFSET_BITS-1:0] skip;

  always_comb begin
    free_request = '0;
    for (int i = LOAD_REQUESTS - 1; i >= 0; i--) if (!outstanding[i]) free_request = request_t'(i);
  end
  assign first_byte = row_out.address + address_t'(asked);
  assign skip = first_byte[OFFSET_BITS-1:0];
  assign room = length_t'(BEAT_BYTES) - length_t'(skip);
  assign target = '{
      entry: row_out.entry, is_acc: row_out.is_acc, row: row_out.row, copies: row_out.copies, position: asked,
      skip: skip, bytes: row_out.bytes - asked < room ? row_out.bytes - asked : room};

  assign get_valid = row_valid && !(&outstanding);
  assign get_address = {first_byte[ADDRESS_BITS-1:OFFSET_BITS], OFFSET_BITS'(0)};
  assign get_source = source_t'(free_request);
  assign get_fire = get_valid && get_ready;
  assign row_done = get_fire && asked + target.bytes == row_out.bytes;

  // --- beats to writes

  target_t beat_target;
  beat_t from_first;  // the beat without the bytes in front of the row's
  write_t write_in, write_out;
  logic beat_fire, unused_full, write_valid, write_fire, write_last;
  count_t copy;
  typedef logic [$clog2(WRITE_QUEUE+DIM)-1:0] held_t;
  held_t writes_held;  // copies count

  assign beat_target = targets[request_t'(beat_source)];
  assign beat_ready = 32'(writes_held) < WRITE_QUEUE;
  assign beat_fire = beat_valid && beat_ready;
  assign from_first = beat_data >> {beat_target.skip, 3'b0};
  assign write_in = '{
      entry: beat_target.entry, is_acc: beat_target.is_acc, row: beat_target.row, copies: beat_target.copies,
      data: bytes_t'(from_first) << {beat_target.position, 3'b0},
      mask: ((bytes_mask_t'(1) << beat_target.bytes) - 1'b1) << beat_target.position};
  fifo #(.DEPTH(WRITE_QUEUE), .T(write_t)) writes (
      .clock, .reset, .push(beat_fire), .in(write_in), .full(unused_full),
      .valid(write_valid), .out(write_out), .pop(write_last)
  );
  assign spad_write = write_valid && !write_out.is_acc;
  assign acc_write = write_valid && write_out.is_acc;
  assign write_row = write_out.row + row_t'(copy);
  assign write_data = write_out.data;
  assign write_mask = write_out.mask;
  assign write_fire = spad_write || (acc_write && acc_granted);
  assign write_last = write_fire && copy + 1'b1 == write_out.copies;

  // --- completion: all beats of all rows are written

  localparam int PENDING_BITS = $clog2(LOAD_REQUESTS + WRITE_QUEUE + 1);
  typedef logic [PENDING_BITS-1:0] pending_t;
  pending_t pending[LOAD_ENTRIES];  // asked for and not yet written
  logic [LOAD_ENTRIES-1:0] all_asked;

  assign done_valid = write_last && all_asked[write_out.entry] && pending[write_out.entry] == 1;
  assign done_slot = slot_t'(write_out.entry);

  always_ff @(posedge clock) begin
    if (row_step) begin
      row_index <= row_in.last ? '0 : row_index + 1'b1;
      row_offset <= row_in.last ? '0 : row_offset + head.command.stride;
      if (row_index == 0) all_asked[head.entry] <= 0;
    end
    in_flight <= in_flight + ($bits(in_flight))'(row_step && row_index == 0) - ($bits(in_flight))'(done_valid);
    if (get_fire) begin
      asked <= row_done ? '0 : asked + target.bytes;
      targets[free_request] <= target;
      outstanding[free_request] <= 1;
      if (row_done && row_out.last) all_asked[row_out.entry] <= 1;
    end
    if (beat_fire) outstanding[request_t'(beat_source)] <= 0;
    if (write_fire) copy <= write_last ? '0 : copy + 1'b1;
    writes_held <= writes_held + (beat_fire ? held_t'(beat_target.copies) : '0) - held_t'(write_fire);
    for (int i = 0; i < LOAD_ENTRIES; i++)
      pending[i] <= pending[i] + pending_t'(get_fire && row_out.entry == entry_t'(i))
          - pending_t'(write_last && write_out.entry == entry_t'(i));
    if (reset) begin
      row_index <= '0;
      row_offset <= '0;
      in_flight <= '0;
      asked <= '0;
      outstanding <= '0;
      copy <= '0;
      writes_held <= '0;
      for (int i = 0; i < LOAD_ENTRIES; i++) pending[i] <= '0;
    end
  end

  // The unit's entries and sources are the first ones.
  logic unused;
  assign unused = &{1'b0, command_slot, beat_source, from_first, unused_full};
endmodule
