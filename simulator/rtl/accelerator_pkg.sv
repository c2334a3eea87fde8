// Sizes and types that the modules share. Change sizes here; the machine's description has the same numbers.
package accelerator_pkg;

  parameter int DIM = 4;             // rows and columns of the array, elements of a local row
  parameter int SPAD_ROWS = 256;     // scratchpad: rows of DIM int8
  parameter int SPAD_BANKS = 4;
  parameter int ACC_ROWS = 64;       // accumulator: rows of DIM int32
  parameter int ACC_BANKS = 2;
  parameter int BEAT_BYTES = 16;     // of the memory port

  parameter int FRONT_QUEUE = 4;     // commands accepted and not yet in a pool
  parameter int LOAD_ENTRIES = 4;    // commands from allocation to completion
  parameter int EXECUTE_ENTRIES = 8;
  parameter int STORE_ENTRIES = 4;
  parameter int LOAD_REQUESTS = 8;   // outstanding reads
  parameter int STORE_REQUESTS = 8;  // outstanding writes

  parameter int ROW_BITS = $clog2(SPAD_ROWS > ACC_ROWS ? SPAD_ROWS : ACC_ROWS);
  parameter int COUNT_BITS = $clog2(DIM + 1);
  parameter int ADDRESS_BITS = 32;
  parameter int OFFSET_BITS = $clog2(BEAT_BYTES);
  parameter int LENGTH_BITS = $clog2(4 * DIM + 1);
  parameter int ENTRIES = LOAD_ENTRIES + EXECUTE_ENTRIES + STORE_ENTRIES;
  parameter int SOURCE_BITS = 5;

  typedef logic [ROW_BITS-1:0] row_t;
  typedef logic [COUNT_BITS-1:0] count_t;    // 0 to DIM rows or columns
  typedef logic [ADDRESS_BITS-1:0] address_t;
  typedef logic [LENGTH_BITS-1:0] length_t;  // bytes of a row of either memory
  typedef logic [$clog2(ENTRIES)-1:0] slot_t;  // a pool entry, numbered over all units
  typedef logic [SOURCE_BITS-1:0] source_t;
  typedef logic [8*BEAT_BYTES-1:0] beat_t;
  typedef logic [BEAT_BYTES-1:0] beat_mask_t;
  typedef logic [4*DIM-1:0][7:0] bytes_t;      // a row of either memory
  typedef logic [4*DIM-1:0] bytes_mask_t;

  typedef logic [DIM-1:0][7:0] elements_t;   // a row of the scratchpad
  typedef logic [DIM-1:0][31:0] sums_t;      // a row of the accumulator

  typedef enum logic [1:0] {LOAD = 0, EXECUTE = 1, STORE = 2, IMMEDIATE = 3} unit_t;

  // A command with the configuration that held when it was issued: units need no state of their own.
  typedef struct packed {
    unit_t kind;
    // the operand in local memory, row i of which is row + i * step
    logic is_acc;
    logic absent;
    logic full;         // moves out: raw sums
    row_t row;
    row_t step;
    count_t rows;
    count_t cols;
    // main memory, row i of which is address + i * stride
    address_t address;
    address_t stride;
    // a multiply: the accumulator rows of its result
    logic multiply;
    logic flip;
    logic accumulate;
    row_t result_row;
    row_t result_step;
    count_t result_rows;
    count_t result_cols;
    // moves out of scaled sums
    logic relu;
    logic [31:0] scale; // binary32, finite
  } command_t;

endpackage
