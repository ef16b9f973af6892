// SPDX-License-Identifier: GPL-2.0
// A program with its own operators new and delete, which use the C library's malloc(). Allocates 100 blocks of 1001
// bytes with new and 100 of 2002 with malloc(). Prints whether malloc() begins with the same bytes as in its file, or
// with a patch.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>

__attribute__((noinline)) void *operator new(std::size_t size)
{
	void *block = std::malloc(size);

	if (!block)
		throw std::bad_alloc();
	return block;
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
	std::free(block);
}

/* Reads @n bytes of an object's code at @address from its file. */
static bool read_file(const void *address, unsigned char *bytes, std::size_t n)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;
	Dl_info info;
	std::FILE *file;
	bool done = false;

	if (!dladdr(address, &info) || !(file = std::fopen(info.dli_fname, "r")))
		return false;
	std::size_t offset = static_cast<const char *>(address) - static_cast<const char *>(info.dli_fbase);

	if (std::fread(&header, sizeof(header), 1, file) != 1)
		header.e_phnum = 0;
	for (int i = 0; i < header.e_phnum && !done; i++) {
		std::fseek(file, static_cast<long>(header.e_phoff + i * sizeof(segment)), SEEK_SET);
		if (std::fread(&segment, sizeof(segment), 1, file) != 1 || segment.p_type != PT_LOAD ||
		    offset - segment.p_vaddr >= segment.p_filesz)
			continue;
		std::fseek(file, static_cast<long>(offset - segment.p_vaddr + segment.p_offset), SEEK_SET);
		done = std::fread(bytes, n, 1, file) == 1;
	}
	std::fclose(file);
	return done;
}

int main()
{
	const void *address = dlsym(RTLD_DEFAULT, "malloc");
	unsigned char bytes[5];
	static char *kept[200];

	for (int i = 0; i < 100; i++) {
		kept[i] = new char[1001];
		kept[100 + i] = static_cast<char *>(std::malloc(2002));
		std::memset(kept[i], 1, 1001);
		std::memset(kept[100 + i], 1, 2002);
	}
	if (!read_file(address, bytes, sizeof(bytes)))
		return 1;
	std::puts(std::memcmp(bytes, address, sizeof(bytes)) ? "led on" : "direct");
	for (int i = 0; i < 100; i++) {
		delete[] kept[i];
		std::free(kept[100 + i]);
	}
	return 0;
}
