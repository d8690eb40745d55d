// tests/emulation/abi.h – what compiled kernels and the emulated device know of each other
//
// Read by the kernel text too, under prelude_cpu.h: C with the language's own types, no include.
#pragma once

/// One argument of a launch, or one shared array of a block.
struct rc_array {
    char* data;         ///< its first element
    const char* name;   ///< as the kernel calls it
    long long first;    ///< the elements from first on ...
    long long last;     ///< ... to one before last are there
    int element_bytes;  ///< of the type that the kernel gives it
    void* cells;        ///< who touched what: the device's
    long long base;     ///< bytes from the first of the cells to `data`
    int unit_bytes;     ///< of a cell
};

/// Who runs now.
struct rc_place {
    int thread;
    int block;
};

enum rc_access { rc_reading, rc_writing, rc_adding /* atomically */ };

/// What kernels ask of the device. Functions that find something wrong do not return.
struct rc_device {
    const rc_place* place;
    /// Checks an access to `count` neighbouring elements; of more than one the address must be
    /// a multiple of their size.
    void (*touch_global)(const rc_array* array, long long at, int count, rc_access access);
    void (*touch_shared)(const rc_array* array, long long at, int count, rc_access access);
    /// The array at that place of the block's shared memory.
    rc_array* (*declare_shared)(const char* name, long long byte_offset, long long count,
                                int element_bytes);
    /// A place of a thread's own array that it does not have.
    void (*outside_local)(const char* name, long long at, long long count);
    void (*barrier)(int line);
    /// The bits that the thread whose number differs in `mask` brings.
    unsigned long long (*exchange)(unsigned long long bits, int mask, int line);
    /// A copy that arrives at once or at a wait; `move` copies the bytes.
    void (*copy_begin)(const rc_array* to, long long at, const rc_array* from, long long from_at,
                       int count, void (*move)(char* to, const char* from, int bytes));
    void (*copy_commit)();
    void (*copy_wait)(int pending);
    /// What uninitialised integers are filled with; floating numbers are NaN.
    const unsigned char* poison;
};

/// An entry point, of a list of all.
struct rc_entry {
    const char* name;
    int most_threads;  ///< the launch bound
    int parameters;
    const int* element_bytes;  ///< of each parameter
    void (*call)(rc_array* parameters);
    const rc_entry* next;
};

extern "C" {
/// What a module of kernels exports: its entries, the last one first. Tells it of the device.
const rc_entry* rc_open(const rc_device* device);
}
