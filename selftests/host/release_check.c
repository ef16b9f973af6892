// SPDX-License-Identifier: GPL-2.0
// The check before a release is tagged: versions that differ, changes that are not committed and a tag that exists are
// named, and nothing is changed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define TREE "release.tree"

/* Makes a repository that can be released as 1.2, runs $1 in it, and checks it. */
static const char script[] =
	"set -e; rm -rf " TREE "; mkdir -p " TREE "/kmod " TREE "/debian " TREE "/Documentation " TREE "/selftests/tools\n"
	"cp \"$MASSIF_SRC/selftests/tools/release-check.sh\" " TREE "/selftests/tools/; cd " TREE "\n"
	"export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
	"GIT_COMMITTER_EMAIL=a@b\n"
	"printf '#define MASSIF_RELEASE\\t\"1.2\"\\n' >kmod/release.h\n"
	"printf 'massif (1.2) unstable; urgency=medium\\n\\nmassif (1.1) unstable; urgency=medium\\n' >debian/changelog\n"
	"printf '# Changes\\n\\n## 1.2\\n\\n## 1.1\\n' >CHANGELOG.md\n"
	"cp \"$MASSIF_SRC/Documentation/massif.spec.in\" Documentation/\n"
	"git init -q; git add .; git commit -q -m all\n"
	"eval \"$1\"; [ \"$1\" = 'touch new' ] || { git add .; git commit -q --allow-empty -m change; }\n"
	"selftests/tools/release-check.sh\n";

FIXTURE(release)
{
	struct ctl_result result;
};

FIXTURE_SETUP(release)
{
	char source[4096];

	if (!getenv("MASSIF_SRC"))
		setenv("MASSIF_SRC", getcwd(source, sizeof(source)), 1);
}

FIXTURE_TEARDOWN(release)
{
	struct ctl_result removed;

	CTL_RUN(&removed, "rm", "-rf", TREE);
	ctl_result_free(&removed);
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(release)
{
	const char *change, *complaint; /* NULL: it can be released */
};

FIXTURE_VARIANT_ADD(release, nothing) { ":", NULL };
FIXTURE_VARIANT_ADD(release, other_tag) { "git tag v1.1", NULL };
FIXTURE_VARIANT_ADD(release, snapshot)
{
	"sed -i 's/1.2/1.2~rc1/' kmod/release.h debian/changelog CHANGELOG.md",
	"kmod/release.h has version '1.2~rc1', which is not a number like 1.2\n",
};
FIXTURE_VARIANT_ADD(release, no_number) { ">kmod/release.h", "kmod/release.h has version '', which is not" };
FIXTURE_VARIANT_ADD(release, debian)
{
	"sed -i 1,2d debian/changelog", "debian/changelog has version '1.1', kmod/release.h has '1.2'\n",
};
FIXTURE_VARIANT_ADD(release, debian_unreleased)
{
	"sed -i '1s/unstable/UNRELEASED/' debian/changelog", "debian/changelog says that the version is not released\n",
};
FIXTURE_VARIANT_ADD(release, changes)
{
	"sed -i 's/1.2/Unreleased/' CHANGELOG.md", "CHANGELOG.md has version 'Unreleased', kmod/release.h has '1.2'\n",
};
FIXTURE_VARIANT_ADD(release, rpm)
{
	"sed -i 's/@VERSION@/1.2/' Documentation/massif.spec.in", "massif.spec.in has a version of its own",
};
FIXTURE_VARIANT_ADD(release, uncommitted) { "touch new", "not everything is committed:\n?? new\n" };
FIXTURE_VARIANT_ADD(release, tagged) { "git tag v1.2", "tag v1.2 exists already\n" };

TEST_F(release, is_checked)
{
	CTL_RUN(&self->result, "sh", "-c", script, "sh", variant->change);
	if (variant->complaint) {
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.out);
		EXPECT_NE(NULL, strstr(self->result.err, variant->complaint)) {
			TH_LOG("%s", self->result.err);
		}
	} else {
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.err);
		EXPECT_NE(NULL, strstr(self->result.out, "    git tag -a v1.2 -m 'massif 1.2'\n"));
	}
}

TEST_HARNESS_MAIN
