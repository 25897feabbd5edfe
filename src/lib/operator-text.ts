/** `1 day`, `2 days`, `1,000 rows` */
export const formatCount = (amount: number, noun: string, plural = `${noun}s`): string =>
  `${amount.toLocaleString('en')} ${amount === 1 ? noun : plural}`;

export const formatMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Replaces control and bidirectional characters: a terminal would interpret them, or reorder the line. */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
