// Rows of elements in banks with one port each. A write comes first, then the array's operands in their order,
// then moves out.
module scratchpad
  import accelerator_pkg::*;
#(
    parameter int READERS = 3  // the lower number first
) (
    input  logic      clock,
    input  logic      write,
    input  row_t      write_row,
    input  elements_t write_data,
    input  logic [DIM-1:0] write_mask,
    input  logic      read[READERS],
    input  row_t      read_row[READERS],
    output logic      granted[READERS],
    output elements_t read_data[READERS]
);
  localparam int BANK_ROWS = SPAD_ROWS / SPAD_BANKS;
  localparam int INDEX_BITS = $clog2(BANK_ROWS);
  typedef logic [$clog2(SPAD_BANKS)-1:0] bank_t;
  typedef logic [INDEX_BITS-1:0] index_t;

  function automatic bank_t bank_of(row_t row);
    return bank_t'(row >> INDEX_BITS);
  endfunction

  elements_t bank_data[SPAD_BANKS];
  logic taken[SPAD_BANKS][READERS+1];  // by the write or a reader before this one

  for (genvar b = 0; b < SPAD_BANKS; b++) begin : banks
    elements_t rows[BANK_ROWS];
    logic write_here;
    index_t index;
    assign write_here = write && bank_of(write_row) == bank_t'(b);
    always_comb begin
      index = index_t'(write_row);
      taken[b][0] = write_here;
      for (int r = 0; r < READERS; r++) begin
        if (!taken[b][r] && read[r] && bank_of(read_row[r]) == bank_t'(b)) index = index_t'(read_row[r]);
        taken[b][r+1] = taken[b][r] || (read[r] && bank_of(read_row[r]) == bank_t'(b));
      end
    end
    assign bank_data[b] = rows[index];
    always_ff @(posedge clock)
      if (write_here) for (int c = 0; c < DIM; c++) if (write_mask[c]) rows[index][c] <= write_data[c];
  end

  always_comb
    for (int r = 0; r < READERS; r++) begin
      granted[r] = read[r] && !taken[bank_of(read_row[r])][r];
      read_data[r] = bank_data[bank_of(read_row[r])];
    end
endmodule
