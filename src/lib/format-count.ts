/** `1 day`, `2 days`, `1,000 rows` */
export const formatCount = (amount: number, noun: string, plural = `${noun}s`): string =>
  `${amount.toLocaleString('en')} ${amount === 1 ? noun : plural}`;
