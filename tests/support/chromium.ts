/** Debian's package puts it there; elsewhere CHROMIUM says where it is. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
