export const markdownTable = (head: string[], rows: string[][]): string =>
  [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');

const line = (cells: string[]): string =>
  `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
