// One lane of a move out: a sum times a binary32 number, as an int8. Rounds to nearest, ties to even, three times:
// the sum to binary32, the product to binary32, and that to an integer, which saturates. A product has a register.
module scaler (
    input  logic        clock,
    input  logic [31:0] sum,
    input  logic        relu,
    input  logic [31:0] scale,  // finite
    output logic [ 7:0] scaled
);
  // The upper 24 of 48 bits, rounded by the others; of 25 bits, since that may carry.
  function automatic logic [24:0] round24(logic [47:0] bits);
    return {1'b0, bits[47:24]} + 25'(bits[23] && (|bits[22:0] || bits[24]));
  endfunction

  // Of a number that is not 0.
  function automatic logic [5:0] leading_zeros(logic [47:0] bits);
    leading_zeros = '0;
    for (int step = 32; step > 0; step /= 2) begin
      if (bits >> (48 - step) == '0) begin
        leading_zeros += 6'(step);
        bits <<= step;
      end
    end
  endfunction

  // --- the sum, rounded to a significand of 24 bits times a power of two

  logic [31:0] magnitude;
  logic [ 5:0] sum_zeros;
  logic [24:0] sum_significand;

  assign magnitude = !sum[31] ? sum : relu ? '0 : -sum;
  assign sum_zeros = leading_zeros({magnitude, 16'b0});
  assign sum_significand = round24({magnitude, 16'b0} << sum_zeros);

  // --- times the scale, whose significand has 24 bits as well. A subnormal scale gives less than a half in any case.

  logic negative;
  logic [47:0] product;
  logic signed [9:0] exponent;  // of the product's lowest bit

  always_ff @(posedge clock) begin
    negative <= sum[31] ^ scale[31];
    product <= scale[30:23] == 0 ? '0 : 48'(sum_significand) * 48'({1'b1, scale[22:0]});
    exponent <= 10'sd8 - signed'(10'(sum_zeros)) + signed'(10'(scale[30:23])) - 10'sd150;
  end

  // --- to binary32: 2^23 to 2^24, times a power of two. From 2^-15 on it saturates; below 2^-24 it is at most a half,
  // which is rounded to 0, the even one.

  logic [5:0] zeros;
  logic [24:0] significand;
  logic signed [9:0] power, shift;
  logic [33:0] fixed;  // 10 bits, and 24 behind the point
  logic [9:0] whole;
  logic too_large;

  always_comb begin
    zeros = leading_zeros(product);
    significand = round24(product << zeros);
    power = exponent + 10'sd24 - signed'(10'(zeros));
    shift = -10'sd16 - power;
    fixed = product == '0 || shift > 10'sd8 ? '0 : {1'b0, significand, 8'b0} >> shift[3:0];
    whole = fixed[33:24] + 10'(fixed[23] && (|fixed[22:0] || fixed[24]));
    too_large = product != '0 && power > -10'sd16;
    if (too_large || whole > 10'd127) scaled = negative ? 8'h80 : 8'h7f;
    else scaled = negative ? -8'(whole) : 8'(whole);
  end
endmodule
