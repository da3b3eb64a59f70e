/* One convolution, done RUNS times between the same preparation and the same checksum of the output.

   With BLOCKED: by the Halide kernel. Else as Caffe does it: im2col into one matrix, then C = A B by cblas_sgemm of the
   library that the command line names. Values are small whole numbers, whose sums a float holds exactly in any order.

   convolve RUNS [LIBRARY]

   It prints the checksum. What the caches count for a run is the difference of RUNS = 1 and RUNS = 0. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = OUT_HEIGHT * OUT_WIDTH, WINDOW = CHANNELS * KERNEL_HEIGHT * KERNEL_WIDTH };

/* Pitches in floats. For the blocked kernel rows begin on lines of the cache, planes lie an odd number of lines apart
   (at a distance of a power of two they would fall into the same sets), and weights are [c][m][k][l], so that a tile of
   few channels fills lines. For Caffe all is dense, weights [m][c][k][l], and BLAS copies its blocks. */
#ifdef BLOCKED
#define LINES(floats) (((floats) + 15) / 16)
#define ROW(floats) (LINES(floats) * 16)
#define PLANE(floats) ((LINES(floats) | 1) * 16)
#else
#define ROW(floats) (floats)
#define PLANE(floats) (floats)
#endif
enum { IN_ROW = ROW(IN_WIDTH), IN_PLANE = PLANE(IN_HEIGHT * IN_ROW), TAPS = KERNEL_HEIGHT * KERNEL_WIDTH };
#ifdef BLOCKED
enum { TO_FILTER = TAPS, TO_CHANNEL = PLANE(FILTERS * TAPS) };
#else
enum { TO_FILTER = WINDOW, TO_CHANNEL = TAPS };
#endif
enum { OUT_ROW = ROW(OUT_WIDTH), OUT_PLANE = PLANE(OUT_HEIGHT * OUT_ROW) };

static float *zeros(size_t count) {
  float *found = aligned_alloc(4096, (count * sizeof(float) + 4095) / 4096 * 4096);
  if (!found) exit(3);
  memset(found, 0, count * sizeof(float));
  return found;
}

static float *filled(int planes, int plane, int rows, int row, int length, uint32_t seed) {
  float *found = zeros((size_t)(planes - 1) * plane + (size_t)(rows - 1) * row + length);
  for (int p = 0; p < planes; p++)
    for (int r = 0; r < rows; r++)
      for (int i = 0; i < length; i++) {
        seed = seed * 1664525u + 1013904223u;
        found[(size_t)p * plane + (size_t)r * row + i] = (float)(int)((seed >> 24) % 7) - 3;
      }
  return found;
}

static uint64_t checksum(const float *outputs) {
  uint64_t sum = 0;
  for (int m = 0; m < FILTERS; m++)
    for (int y = 0; y < OUT_HEIGHT; y++)
      for (int x = 0; x < OUT_WIDTH; x++)
        sum = sum * 1000003u + (uint64_t)(int64_t)outputs[(size_t)m * OUT_PLANE + y * OUT_ROW + x];
  return sum;
}

#ifdef BLOCKED
#include "kernel.h"

static void prepare(const char *library) { (void)library; }

static halide_buffer_t buffer_of(float *data, halide_dimension_t *dimensions, int count) {
  halide_buffer_t buffer = {0};
  buffer.host = (uint8_t *)data;
  buffer.type.code = halide_type_float;
  buffer.type.bits = 32;
  buffer.type.lanes = 1;
  buffer.dimensions = count;
  buffer.dim = dimensions;
  return buffer;
}

static void convolve(float *inputs, float *weights, float *outputs) {
  halide_dimension_t in[] = {{0, IN_WIDTH, 1, 0}, {0, IN_HEIGHT, IN_ROW, 0}, {0, CHANNELS, IN_PLANE, 0}};
  halide_dimension_t of[] = {{0, KERNEL_WIDTH, 1, 0},
                             {0, KERNEL_HEIGHT, KERNEL_WIDTH, 0},
                             {0, CHANNELS, TO_CHANNEL, 0},
                             {0, FILTERS, TO_FILTER, 0}};
  halide_dimension_t out[] = {{0, OUT_WIDTH, 1, 0}, {0, OUT_HEIGHT, OUT_ROW, 0}, {0, FILTERS, OUT_PLANE, 0}};
  halide_buffer_t i = buffer_of(inputs, in, 3), w = buffer_of(weights, of, 4), o = buffer_of(outputs, out, 3);
  if (blocked_convolution(&i, &w, &o)) exit(3);
}
#else
enum { ROW_MAJOR = 101, AS_IT_IS = 111 };
typedef void Gemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
static Gemm *gemm;
static float *columns;

/* Finds the library; a first small product makes it choose its kernels and take its memory. */
static void prepare(const char *library) {
  void *opened = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  gemm = opened ? (Gemm *)dlsym(opened, "cblas_sgemm") : NULL;
  if (!gemm) {
    fprintf(stderr, "%s: %s\n", library, dlerror());
    exit(2);
  }
  columns = zeros((size_t)WINDOW * PIXELS);
  float *three = zeros(3 * 64 * 64);
  gemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, 64, 64, 64, 1, three, 64, three + 4096, 64, 0, three + 8192, 64);
}

/* Rows of the matrix are (channel, kernel row, kernel column), columns are output pixels. */
static void im2col(const float *inputs) {
  float *to = columns;
  for (int c = 0; c < CHANNELS; c++)
    for (int k = 0; k < KERNEL_HEIGHT; k++)
      for (int l = 0; l < KERNEL_WIDTH; l++)
        for (int y = 0; y < OUT_HEIGHT; y++) {
          const float *from = inputs + (c * IN_HEIGHT + y * STRIDE_DOWN + k) * IN_WIDTH + l;
          for (int x = 0; x < OUT_WIDTH; x++) *to++ = from[x * STRIDE_RIGHT];
        }
}

static void convolve(float *inputs, float *weights, float *outputs) {
  im2col(inputs);
  gemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, FILTERS, PIXELS, WINDOW, 1, weights, WINDOW, columns, PIXELS, 0, outputs, PIXELS);
}
#endif

int main(int count, char **given) {
  if (count < 2) return 2;
  prepare(count > 2 ? given[2] : "");
  float *inputs = filled(CHANNELS, IN_PLANE, IN_HEIGHT, IN_ROW, IN_WIDTH, 1);
  float *weights = filled(FILTERS, TO_FILTER, CHANNELS, TO_CHANNEL, TAPS, 2);
  float *outputs = zeros((size_t)FILTERS * OUT_PLANE);
  for (int run = atoi(given[1]); run > 0; run--) convolve(inputs, weights, outputs);
  printf("%016llx\n", (unsigned long long)checksum(outputs));
  return 0;
}
