// The host's part of quantised layers, the same for every machine, and the layers. Compile with -ffp-contract=off.
#include <float.h>

#include "quantised.h"

static bool in_int8(int32_t value) {
    return value >= INT8_MIN && value <= INT8_MAX;
}

bool autocomp_valid(const struct autocomp_quantisation *numbers, size_t columns) {
    for (size_t n = 0; n < numbers->scale_count; n++) {
        if (!(numbers->scales[n] >= -FLT_MAX && numbers->scales[n] <= FLT_MAX)) {
            return false;
        }
    }
    return (numbers->scale_count == 1 || numbers->scale_count == columns) && in_int8(numbers->left_zero) &&
           in_int8(numbers->right_zero) && in_int8(numbers->result_zero) && in_int8(numbers->least) &&
           in_int8(numbers->most) && numbers->least <= numbers->most;
}

// The place in the image of a filter's tap, or -1 outside.
static ptrdiff_t place(const struct autocomp_products *of, int axis, size_t result, size_t tap) {
    const size_t padded = result * of->stride[axis] + tap * of->dilation[axis];
    const bool inside = padded >= of->before[axis] && padded - of->before[axis] < of->extent[axis];
    return inside ? (ptrdiff_t)(padded - of->before[axis]) : -1;
}

// left_zero * (right - right_zero), summed over the channels of a group.
static uint32_t sum_of_right(const struct autocomp_products *of, const struct autocomp_quantisation *numbers,
                             const int8_t *right, size_t tap, size_t column) {
    const size_t channels = of->channels / of->groups;
    uint32_t sum = 0;
    for (size_t c = 0; c < channels; c++) {
        const int32_t value = right[(tap * channels + c) * of->depth + column * of->column];
        sum += (uint32_t)(value - numbers->right_zero);
    }
    return sum * (uint32_t)numbers->left_zero;
}

// right_zero * left, summed over the channels of a group and the taps inside the image.
static uint32_t sum_of_left(const struct autocomp_products *of, const struct autocomp_quantisation *numbers,
                            const int8_t *left, size_t image, size_t p, size_t q, size_t group) {
    const size_t channels = of->channels / of->groups;
    uint32_t sum = 0;
    for (size_t tap = 0; tap < of->taps[0] * of->taps[1]; tap++) {
        const ptrdiff_t row = place(of, 0, p, tap / of->taps[1]), col = place(of, 1, q, tap % of->taps[1]);
        if (row >= 0 && col >= 0) {
            const size_t pixel = (image * of->extent[0] + (size_t)row) * of->extent[1] + (size_t)col;
            for (size_t c = group * channels; c < (group + 1) * channels; c++) {
                const int32_t value = left[pixel * of->pixel + c * of->channel];
                sum += (uint32_t)value;
            }
        }
    }
    return sum * (uint32_t)numbers->right_zero;
}

// The sum over (left - left_zero) * (right - right_zero) is that of left * right less both sums above. Pixels that are
// not in memory are left_zero, and add nothing.
void autocomp_subtract_zeros(const struct autocomp_products *of, const struct autocomp_quantisation *numbers,
                             const int8_t *left, const int8_t *right, int32_t *sums) {
    const size_t rows = of->results[0], cols = of->results[1], columns = of->columns;
    for (size_t column = 0; numbers->left_zero != 0 && column < columns; column++) {
        for (size_t tap = 0; tap < of->taps[0] * of->taps[1]; tap++) {
            const uint32_t sum = sum_of_right(of, numbers, right, tap, column);
            for (size_t at = 0; at < of->images * rows * cols; at++) {
                if (place(of, 0, at / cols % rows, tap / of->taps[1]) >= 0 &&
                    place(of, 1, at % cols, tap % of->taps[1]) >= 0) {
                    int32_t *result = &sums[at * columns + column];
                    *result = (int32_t)((uint32_t)*result - sum);
                }
            }
        }
    }
    for (size_t at = 0; numbers->right_zero != 0 && at < of->images * rows * cols; at++) {
        for (size_t group = 0; group < of->groups; group++) {
            const uint32_t sum = sum_of_left(of, numbers, left, at / cols / rows, at / cols % rows, at % cols, group);
            for (size_t column = group * columns / of->groups; column < (group + 1) * columns / of->groups; column++) {
                int32_t *result = &sums[at * columns + column];
                *result = (int32_t)((uint32_t)*result - sum);
            }
        }
    }
}

// To the nearest whole number, of two to the even one. Values are below 2^22: the sum with 1.5 * 2^23 has no fraction.
static float whole(float value) {
    const volatile float moved = value + 12582912.0f;
    return moved - 12582912.0f;
}

void autocomp_requantise(const struct autocomp_quantisation *numbers, size_t rows, size_t columns, const int32_t *sums,
                         int8_t *results) {
    const float least = (float)(numbers->least - numbers->result_zero);
    const float most = (float)(numbers->most - numbers->result_zero);
    for (size_t at = 0; at < rows * columns; at++) {
        const float scaled = (float)sums[at] * numbers->scales[numbers->scale_count == 1 ? 0 : at % columns];
        const float bounded = scaled < least ? least : scaled > most ? most : scaled;
        results[at] = (int8_t)((int32_t)whole(bounded) + numbers->result_zero);
    }
}

bool autocomp_kept_in_int8(const struct autocomp_quantisation *numbers) {
    return numbers->left_zero == 0 && numbers->right_zero == 0 && in_int8(numbers->least - numbers->result_zero) &&
           in_int8(numbers->most - numbers->result_zero);
}

void autocomp_finish(const struct autocomp_quantisation *numbers, size_t count, int8_t *results) {
    if (numbers->result_zero == 0 && numbers->least == INT8_MIN && numbers->most == INT8_MAX) {
        return;
    }
    for (size_t at = 0; at < count; at++) {
        const int32_t value = results[at] + numbers->result_zero;
        results[at] = (int8_t)(value < numbers->least ? numbers->least : value > numbers->most ? numbers->most : value);
    }
}
