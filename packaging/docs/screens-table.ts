import { KINDS } from '../../console/src/session/roles.ts';
import { kindsOf, SCREENS } from '../../console/src/session/screens.ts';
import { markdownTable } from './markdown.ts';

/** The table of docs/console.md: who sees which screen. */
export const screensTable = (): string => {
  const kinds = [...KINDS.keys()];
  const rows = SCREENS.map((screen) => [
    screen.label,
    `\`${screen.to}\``,
    ...kinds.map((kind) => (kindsOf(screen).includes(kind) ? 'yes' : '–')),
  ]);
  return markdownTable(['Screen', 'Path', ...kinds], rows);
};
