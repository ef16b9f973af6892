// SPDX-License-Identifier: GPL-2.0
// Calls operators new and delete as functions, so that the compiler cannot optimise the calls away.

#include <new>

int main()
{
	const std::align_val_t alignment{64};

	::operator delete(::operator new(4));
	::operator delete[](::operator new[](12));
	::operator delete(::operator new(5), 5);
	::operator delete(::operator new(64, alignment), alignment);
	::operator delete[](::operator new[](128, alignment), alignment);
	::operator delete(::operator new(6, std::nothrow), std::nothrow);
	::operator delete[](::operator new[](7, std::nothrow), std::nothrow);
	::operator delete(::operator new(64, alignment, std::nothrow), alignment, std::nothrow);
	::operator delete(static_cast<void *>(nullptr));
	return 0;
}
