// SPDX-License-Identifier: GPL-2.0
// Maps the file of a loaded object.
//
// The file is opened by the object's path. Another file may have that path by now; it is detected because its program
// headers or notes differ from those in memory.

#include "object_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns whether the note lies in a readable segment of the object and so can be read from memory. */
static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) *note)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uint64_t at = note->p_vaddr - header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_R && at < header->p_filesz &&
		    note->p_filesz <= header->p_filesz - at)
			return true;
	}
	return false;
}

/*
 * Is this the file that @object was loaded from? Compares program headers and notes, which include the build-id.
 * Returns false if the file was replaced. Also returns false for an executable that was started by running the dynamic
 * linker, because /proc/self/exe is then the dynamic linker.
 */
static bool is_of(const struct mf_object_file *file, const struct dl_phdr_info *object)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;
	size_t size = object->dlpi_phnum * sizeof(ElfW(Phdr));

	if (!mf_object_file_has(file, 0, sizeof(*header)) || header->e_phentsize != sizeof(ElfW(Phdr)) ||
	    header->e_phnum != object->dlpi_phnum || !mf_object_file_has(file, header->e_phoff, size) ||
	    memcmp(file->bytes + header->e_phoff, object->dlpi_phdr, size))
		return false;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *note = &object->dlpi_phdr[i];

		if (note->p_type == PT_NOTE &&
		    (!mf_object_file_has(file, note->p_offset, note->p_filesz) || !is_loaded(object, note) ||
		     memcmp(file->bytes + note->p_offset,
			    (const void *)(uintptr_t)(object->dlpi_addr + note->p_vaddr), note->p_filesz)))
			return false;
	}
	return true;
}

/* Uses bare system calls, because the program may define functions named openat() and close(). */
static bool map_file(struct mf_object_file *file, const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	if (bytes == MAP_FAILED)
		return false;
	*file = (struct mf_object_file){ .bytes = bytes, .size = (uint64_t)st.st_size };
	return true;
}

static bool find_sections(struct mf_object_file *file)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;

	if (header->e_shentsize != sizeof(*file->sections) || header->e_shoff % _Alignof(ElfW(Shdr)) ||
	    !mf_object_file_has(file, header->e_shoff, header->e_shnum * sizeof(*file->sections)))
		return false;
	file->sections = (const void *)(file->bytes + header->e_shoff);
	file->n_sections = header->e_shnum;
	return true;
}

bool mf_object_file_open(struct mf_object_file *file, const struct dl_phdr_info *object)
{
	const char *path = object->dlpi_name;
	int saved = errno;
	bool opened = map_file(file, *path ? path : "/proc/self/exe");

	if (opened && !(is_of(file, object) && find_sections(file))) {
		mf_object_file_close(file);
		opened = false;
	}
	errno = saved;
	return opened;
}

void mf_object_file_close(const struct mf_object_file *file)
{
	int saved = errno;

	munmap((void *)(uintptr_t)file->bytes, file->size);
	errno = saved;
}

const ElfW(Shdr) *mf_object_file_section(const struct mf_object_file *file, const char *name)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;
	const ElfW(Shdr) *names;
	size_t size = strlen(name) + 1;

	if (header->e_shstrndx >= file->n_sections)
		return NULL;
	names = &file->sections[header->e_shstrndx];
	if (!mf_object_file_has(file, names->sh_offset, names->sh_size))
		return NULL;
	for (uint32_t i = 0; i < file->n_sections; i++) {
		const ElfW(Shdr) *section = &file->sections[i];

		if (section->sh_name <= names->sh_size && size <= names->sh_size - section->sh_name &&
		    !memcmp(file->bytes + names->sh_offset + section->sh_name, name, size))
			return section;
	}
	return NULL;
}
