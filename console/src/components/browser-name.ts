/** Tried in this order: most browsers also claim to be Chrome or Safari. */
const BROWSERS: readonly [name: string, version: RegExp][] = [
  ['Edge', /\bEdgA?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|HeadlessChrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)\S* (?:Mobile\/\S+ )?Safari\b/],
];

const SYSTEMS: readonly [name: string, pattern: RegExp][] = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
];

/** `Chrome 140 on Linux` for the `User-Agent` of a browser. The header of any other program is returned unchanged. */
export const browserName = (userAgent: string): string => {
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0];
  for (const [name, pattern] of BROWSERS) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined) return [name, version, ...(system ? ['on', system] : [])].join(' ');
  }
  return userAgent;
};
