const BEGIN = '<!-- written by npm run bench -- --write -->';
const END = '<!-- end of what is written -->';

/** The document with these lines in place of what stood between its two marks. */
export const withTables = (document: string, lines: readonly string[]): string => {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error('The document does not say where the tables are to be.');
  return [document.slice(0, begin) + BEGIN, '', ...lines, '', document.slice(end)].join('\n');
};
