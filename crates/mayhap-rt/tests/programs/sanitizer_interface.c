// What programs that know the sanitizers call is there, and unaligned accesses through it are seen.
// race: shared
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

void __sanitizer_set_death_callback(void (*)(void));
void __sanitizer_print_stack_trace(void);
void __sanitizer_annotate_contiguous_container(const void *, const void *, const void *, const void *);
int __sanitizer_verify_contiguous_container(const void *, const void *, const void *);
size_t __sanitizer_get_allocated_size(const volatile void *);
uint32_t __sanitizer_unaligned_load32(const uint32_t *);
void __sanitizer_unaligned_store32(uint32_t *, uint32_t);
void __lsan_ignore_object(const void *);
void *__interceptor_malloc(size_t);
void __interceptor_free(void *);

char shared[8];

static void *first(void *arg) {
    __sanitizer_unaligned_store32((uint32_t *)(shared + 1), 7);
    return arg;
}

static void *second(void *arg) {
    if (__sanitizer_unaligned_load32((const uint32_t *)(shared + 1)) > 7) abort();
    return arg;
}

int main(void) {
    __sanitizer_set_death_callback(0);
    char *block = __interceptor_malloc(16);
    if (__sanitizer_get_allocated_size(block) < 16) abort();
    if (!__sanitizer_verify_contiguous_container(block, block, block)) abort();
    __sanitizer_annotate_contiguous_container(block, block + 16, block, block + 16);
    __lsan_ignore_object(block);
    __interceptor_free(block);
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
