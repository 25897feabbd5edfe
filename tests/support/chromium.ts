/** The executable of Debian's package, unless CHROMIUM is set. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
