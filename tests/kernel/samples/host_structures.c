// Structures: nested, in arrays, by value, by pointers, in lists with and without names. Pointers to functions.
struct pair { int32_t first; int32_t second[2]; };
typedef struct { int rows, cols; } size;
typedef struct tile { size extent; struct pair pairs[3]; int8_t data[2][4]; } tile_type;

struct pair shared[2] = {{1, {2, 3}}, {.second = {5, 6}, .first = 4}};

int area(size s) {
    return s.rows * s.cols;
}

void grow(struct pair* p, int n) {
    for (int i = 0; i < n; i++) {
        p[i].first += 1;
        p[i].second[1] = p->first + (p + i)->second[0];
    }
}

int sum(const tile_type* t, size* other) {
    int total = other == NULL ? 0 : 1000 * area(*other);
    for (int i = 0; i < 3; i++) {
        total += t->pairs[i].first + t->pairs[i].second[1];
    }
    const int8_t* row = t->data[1];
    for (int j = 0; j < 4; j++) {
        total += row[j] * (*t).data[0][j] + *(&t->data[1][0] + j);
    }
    return total;
}

int twice(int n) {
    return 2 * n;
}

int square(int n) {
    return n * n;
}

void note(int64_t* to, int n) {
    to[0] = n;
}

void note_below(int64_t* to, int n) {
    to[0] = -n;
}

int applied(int (*f)(int n), int n) {
    return f(n) + (*f)(n + 1);
}

typedef struct { int32_t* data; size_t rows, cols; } matrix_t;
typedef int (*map_t)(int);

int32_t* at(const matrix_t m, size_t row, size_t col) {
    return m.data + row * m.cols + col;
}

int sum_of(const matrix_t* m, map_t map) {
    int total = 0;
    for (size_t i = 0; i < m->rows; i++) {
        for (size_t j = 0; j < m->cols; j++) {
            total += map(*at(*m, i, j)) + m->data[0];
        }
    }
    return total;
}

int sums(const matrix_t* a, const matrix_t* b) {
    return sum_of(a, twice) * 3 + sum_of(b, square);
}

int64_t corner(int32_t (*block)[8], int32_t rows[][8]) {
    return block[1][2] * 10 + rows[2][1];
}

int grown(const size* s, size* t) {
    t->rows += 5;
    return s->rows;
}

void solution(int32_t x[8][8], float f[16], int64_t out[64]) {
    tile_type t = {{2, 3}, {{1, {2, 3}}, {4}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}};
    size a = {7, 5}, b = a;
    size* p = &b;
    int t_extent_rows = 9;
    out[0] = sum(&t, NULL);
    p->rows = x[0][1];
    b = (size){b.cols, b.rows};
    grow(shared, 2);
    grow(&t.pairs[1], 2);
    out[1] = area(t.extent) + t_extent_rows;
    out[2] = sum(&t, &a);
    out[3] = a.rows * 10000 + b.rows * 100 + p->cols;
    out[4] = shared[1].first + shared[1].second[1] * 10 + shared[0].second[1] * 100;
    out[5] = sizeof(size) + sizeof(t.pairs[0].second) + sizeof t.data;
    out[6] = area((size){.cols = 3, .rows = x[1][1]});
    out[7] = ((struct pair){5, {6, 7}}).second[1];
    struct pair copies[2] = {0};
    copies[1].first = 3;
    out[8] = copies[0].first + copies[1].first + copies[1].second[0];
    {
        struct pair t = {1, {2, 3}};
        out[9] = t.second[0];
    }
    size* q = p;
    out[10] = p == q ? 1 : 2;
    q = &a;
    out[11] = p == q ? 1 : 2;
    out[12] = q->rows-->0 ? a.rows : 0;
    for (int i = 0; i < 2; i++) {
        size* each = i == 0 ? &a : p;
        out[13 + i] = each->cols;
    }
    matrix_t all = {&x[0][0], 8, 8}, part = {&x[1][2], 2, 3}, rows = {&x[4][0], 3, 8};
    out[16] = grown(&a, &a) * 100 + grown(&a, &b);
    out[17] = corner(x, x + 1) + corner(&x[1], x);
    map_t maps[2] = {twice, square};
    out[15] = sums(&all, &rows) + sum_of(&part, maps[1]);
    int (*g)(int) = &twice, (*table[2])(int) = {square, twice};
    void (*write)(int64_t*, int);
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) {
            write = &note;
        } else {
            write = note_below;
        }
        (*write)(&out[20 + i], g(i));
        write(&out[24 + i], applied(table[i % 2], i));
        g = i == 1 ? square : g;
    }
}
