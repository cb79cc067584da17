/* What gcc calls at each basic block of an instrumented module (-fsanitize-coverage=trace-pc): counts it in
 * a table that libFuzzer reads after each input. clang could keep such counters itself, gcc cannot. Calls
 * for comparisons (trace-cmp) go to libFuzzer directly. */
#include <stdint.h>

enum { BITS = 18 };

const int bits = BITS;
uint8_t counters[1 << BITS];
uintptr_t places[2 << BITS]; /* for each counter an address and flags, which libFuzzer wants to have */

void __sanitizer_cov_trace_pc(void) {
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint32_t index = (uint32_t)(place * UINT64_C(0x9E3779B97F4A7C15) >> (64 - BITS));
    uint8_t count = counters[index] + 1;
    counters[index] = count ? count : 255;
    places[2 * index] = place;
}

/* gcc also reports comparisons of floating-point numbers, which libFuzzer does not know. */
void __sanitizer_cov_trace_cmpf(float one, float other) { (void)one, (void)other; }
void __sanitizer_cov_trace_cmpd(double one, double other) { (void)one, (void)other; }
