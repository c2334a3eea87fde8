// Rows of sums in banks with a port for reads and one for writes. Results of the array come first: they cannot
// wait. One that adds to what is there takes the read port as well, and reads and writes in one cycle.
module accumulator
  import accelerator_pkg::*;
(
    input  logic            clock,
    input  logic            result,
    input  logic            result_adds,
    input  row_t            result_row,
    input  sums_t           result_data,
    input  logic [DIM-1:0]  result_mask,
    input  logic            write,
    input  row_t            write_row,
    input  sums_t           write_data,
    input  logic [4*DIM-1:0] write_mask,  // of bytes
    output logic            write_granted,
    input  logic            read,
    input  row_t            read_row,
    output logic            read_granted,
    output sums_t           read_data
);
  localparam int BANK_ROWS = ACC_ROWS / ACC_BANKS;
  localparam int INDEX_BITS = $clog2(BANK_ROWS);
  typedef logic [$clog2(ACC_BANKS)-1:0] bank_t;
  typedef logic [INDEX_BITS-1:0] index_t;

  function automatic bank_t bank_of(row_t row);
    return bank_t'(row >> INDEX_BITS);
  endfunction

  assign write_granted = write && !(result && bank_of(result_row) == bank_of(write_row));
  assign read_granted = read && !(result && result_adds && bank_of(result_row) == bank_of(read_row));

  sums_t bank_data[ACC_BANKS];
  for (genvar b = 0; b < ACC_BANKS; b++) begin : banks
    sums_t rows[BANK_ROWS];
    logic result_here, write_here;
    assign result_here = result && bank_of(result_row) == bank_t'(b);
    assign write_here = write_granted && bank_of(write_row) == bank_t'(b);
    assign bank_data[b] = rows[result_here && result_adds ? index_t'(result_row) : index_t'(read_row)];
    always_ff @(posedge clock) begin
      if (result_here)
        for (int c = 0; c < DIM; c++)
          if (result_mask[c]) rows[index_t'(result_row)][c] <= result_data[c] + (result_adds ? bank_data[b][c] : 32'd0);
      if (write_here)
        for (int i = 0; i < 4 * DIM; i++)
          if (write_mask[i]) rows[index_t'(write_row)][i/4][8*(i%4)+:8] <= write_data[i/4][8*(i%4)+:8];
    end
  end
  assign read_data = bank_data[bank_of(read_row)];
endmodule
