import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import type { Tour } from './tour.ts';

export const findUnusedApp = async ({ page, read }: Tour): Promise<string> => {
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page
    .getByRole('listitem')
    .filter({ hasText: /not used/ })
    .getByRole('link', { name: 'Forecast' })
    .click();
  await waitForHeading(page, 'Forecast');

  const unused = await read('/jb/apps/?is_unused=true');
  assert.equal(
    unused.map(({ label }) => label),
    ['Forecast'],
  );
  return 'Forecast has no use';
};
