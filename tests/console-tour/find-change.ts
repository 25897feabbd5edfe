import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import { chooseFilter } from '../support/console.ts';
import type { Tour } from './tour.ts';

export const findChange = async ({ page, read, screenshot }: Tour): Promise<string> => {
  await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
  await waitForHeading(page, 'Audit trail');
  await chooseFilter(page, 'Action', 'Changed a person');
  await chooseFilter(page, 'Period', 'Yesterday');
  const rows = page.getByRole('table', { name: 'Audit trail' }).getByRole('row');
  await rows
    .filter({ hasText: 'Last name: changed' })
    .getByRole('button', { name: 'Alex Acme changed Grace Hopper' })
    .waitFor();
  await screenshot('audit');
  assert.is(await rows.count(), 2, 'the heading and one entry');

  const [entry] = await read('/jb/audit/?action=user.update');
  assert.equal([entry?.actor, entry?.target], ['admin@acme.test', 'grace@acme.test']);
  return 'Alex Acme changed the last name of Grace Hopper';
};
