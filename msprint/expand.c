// SPDX-License-Identifier: GPL-2.0
// Reads files that may be compressed with gzip(1) or zstd(1).

#include "expand.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define CHUNK 65536u

/* windowBits for inflateInit2(): the maximum window size; adding 16 selects the gzip format instead of zlib. */
#define GZIP_WINDOW (MAX_WBITS + 16)

/*
 * State of one mf_expand() call. At first, @in holds the bytes that were read from the beginning of @from to detect the
 * format.
 */
struct copy {
	int from, to;
	uint8_t in[CHUNK], out[CHUNK];
	size_t n_in; /* number of bytes in @in not decompressed yet */
	const char *why;
};

ssize_t mf_expand_read(int fd, void *data, size_t len)
{
	ssize_t got;

	do {
		got = read(fd, data, len);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t done;

	for (; len; data += done, len -= (size_t)done) {
		done = write(fd, data, len);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done < 0)
			return -errno;
	}
	return 0;
}

/* Reads more input once all of it has been used. Returns the number of bytes read, 0 at the end, or -errno. */
static ssize_t refill(struct copy *copy)
{
	ssize_t got = mf_expand_read(copy->from, copy->in, sizeof(copy->in));

	copy->n_in = got > 0 ? (size_t)got : 0;
	return got;
}

static int copy_plain(struct copy *copy)
{
	ssize_t got;

	do {
		int ret = write_all(copy->to, copy->in, copy->n_in);

		if (ret)
			return ret;
		got = refill(copy);
	} while (got > 0);
	return (int)got;
}

static int fail(struct copy *copy, const char *why)
{
	copy->why = why;
	return -EINVAL;
}

/* A file may consist of several concatenated compressed files. */
static int inflate_all(struct copy *copy, z_stream *stream)
{
	int state = Z_OK, ret;
	ssize_t got;

	for (;;) {
		if (!copy->n_in) {
			got = refill(copy);
			if (got < 0)
				return (int)got;
			if (!got)
				return state == Z_STREAM_END ? 0 : fail(copy, "the gzip file is cut off");
		}
		if (state == Z_STREAM_END && inflateReset(stream) != Z_OK)
			return fail(copy, "the gzip file is damaged");
		stream->next_in = copy->in;
		stream->avail_in = (uInt)copy->n_in;
		do {
			stream->next_out = copy->out;
			stream->avail_out = sizeof(copy->out);
			state = inflate(stream, Z_NO_FLUSH);
			if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
				return fail(copy, "the gzip file is damaged");
			ret = write_all(copy->to, copy->out, sizeof(copy->out) - stream->avail_out);
			if (ret)
				return ret;
		} while (state != Z_STREAM_END && (stream->avail_in || !stream->avail_out));
		memmove(copy->in, stream->next_in, stream->avail_in);
		copy->n_in = stream->avail_in;
	}
}

static int copy_gzip(struct copy *copy)
{
	z_stream stream = { 0 };
	int ret;

	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	ret = inflate_all(copy, &stream);
	inflateEnd(&stream);
	return ret;
}

static int decompress_all(struct copy *copy, ZSTD_DStream *stream)
{
	size_t state = 1; /* result of ZSTD_decompressStream(): 0 at the end of a frame */
	ssize_t got;
	int ret;

	for (;;) {
		ZSTD_inBuffer in = { copy->in, copy->n_in, 0 };
		ZSTD_outBuffer out;

		do {
			out = (ZSTD_outBuffer){ copy->out, sizeof(copy->out), 0 };
			state = ZSTD_decompressStream(stream, &out, &in);
			if (ZSTD_isError(state))
				return fail(copy, "the zstd file is damaged");
			ret = write_all(copy->to, copy->out, out.pos);
			if (ret)
				return ret;
		} while (in.pos < in.size || out.pos == out.size);
		got = refill(copy);
		if (got < 0)
			return (int)got;
		if (!got)
			return state ? fail(copy, "the zstd file is cut off") : 0;
	}
}

static int copy_zstd(struct copy *copy)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	int ret = stream ? decompress_all(copy, stream) : -ENOMEM;

	ZSTD_freeDStream(stream);
	return ret;
}

/* Compressed formats and their magic bytes. */
static const struct {
	const char *magic;
	size_t size;
	int (*copy)(struct copy *copy);
} kinds[] = {
	{ "\x1f\x8b", 2, copy_gzip },
	{ "\x28\xb5\x2f\xfd", 4, copy_zstd },
};

#define KINDS	 (sizeof(kinds) / sizeof(kinds[0]))
#define MAGIC_MAX 4u

/* Returns the index of the format in kinds[], or KINDS if none matches. */
static size_t kind_of(const void *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (n >= kinds[i].size && !memcmp(bytes, kinds[i].magic, kinds[i].size))
			break;
	return i;
}

bool mf_expand_is_needed(int fd)
{
	char start[MAGIC_MAX];
	ssize_t got = pread(fd, start, sizeof(start), 0);

	return got > 0 && kind_of(start, (size_t)got) < KINDS;
}

int mf_expand(int from, int to, const char **why)
{
	static struct copy copy;
	ssize_t got = 1;
	size_t kind;
	int ret;

	copy.from = from;
	copy.to = to;
	copy.n_in = 0;
	copy.why = NULL;
	/* A read from a pipe may return fewer bytes than are needed to detect the format. */
	while (got > 0 && copy.n_in < MAGIC_MAX) {
		got = mf_expand_read(from, copy.in + copy.n_in, sizeof(copy.in) - copy.n_in);
		if (got < 0)
			return (int)got;
		copy.n_in += (size_t)got;
	}
	kind = kind_of(copy.in, copy.n_in);
	ret = kind < KINDS ? kinds[kind].copy(&copy) : copy_plain(&copy);
	*why = copy.why;
	return ret;
}
