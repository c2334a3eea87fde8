// Whole quantised layers: zero points, bounds and scales at run time.
#pragma once
#include "kernels.h"

// The numbers of a layer. A value is (stored - zero point) * scale. A scale here is that of the left operand times that
// of the right one, over that of the result: one for each column of the result, or one for all. Results lie within the
// bounds, as stored: with ReLU the least one is the zero point. Zero points and bounds are those of int8; a tensor of
// uint8 is one of int8 with 128 less. A function returns -1 for other numbers, and where its kernels cannot have them.
struct autocomp_quantisation {
    const float *scales;
    size_t scale_count;
    int32_t left_zero, right_zero, result_zero;
    int32_t least, most;
};

// The products of a layer as those of a convolution; a matrix product has filters of one pixel. `pixel`, `channel`,
// `depth` and `column` count the elements from one to the next: of the left operand, and of channels and columns of the
// right one. Two numbers are those along rows and columns of an image.
struct autocomp_products {
    size_t images, extent[2], channels, groups, columns, taps[2], results[2], stride[2], before[2], dilation[2];
    size_t pixel, channel, depth, column;
};

// Takes out of the sums what the zero points of the operands add. That of the left operand needs a pass over the sums
// for each tap of a filter. Where weights are known and nothing is padded, take it out of the biases once instead.
void autocomp_subtract_zeros(const struct autocomp_products *products, const struct autocomp_quantisation *numbers,
                             const int8_t *left, const int8_t *right, int32_t *sums);
// Results of the sums of a matrix of `rows`, in binary32, bounded before they are rounded to even.
void autocomp_requantise(const struct autocomp_quantisation *numbers, size_t rows, size_t columns, const int32_t *sums,
                         int8_t *results);
// True if the numbers are those of int8, with a finite scale for each of the columns or one for all.
bool autocomp_valid(const struct autocomp_quantisation *numbers, size_t columns);
// True if a kernel's int8 results, without zero points and with the bounds of int8, have all that is asked for.
bool autocomp_kept_in_int8(const struct autocomp_quantisation *numbers);
// The zero point and the bounds of such results.
void autocomp_finish(const struct autocomp_quantisation *numbers, size_t count, int8_t *results);

