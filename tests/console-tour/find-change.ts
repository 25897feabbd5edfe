import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import type { Tour } from './tour.ts';

const DAY_MS = 24 * 3600 * 1000;

/** The local date, as date fields take it. */
const yesterday = (): string => new Date(Date.now() - DAY_MS).toLocaleDateString('sv');

export const findChange = async ({ page, read, screenshot }: Tour): Promise<string> => {
  await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
  await waitForHeading(page, 'Audit trail');
  await page.getByRole('combobox', { name: 'Action' }).click();
  await page.getByRole('option', { name: 'Changed a user', exact: true }).click();
  await page.getByLabel('From').fill(yesterday());
  await page.getByLabel('To', { exact: true }).fill(yesterday());
  const rows = page.getByRole('table', { name: 'Audit trail' }).getByRole('row');
  await rows
    .filter({ hasText: '"Murray" → "Hopper"' })
    .getByRole('link', { name: 'admin@acme.test' })
    .waitFor();
  await screenshot('audit');
  assert.is(await rows.count(), 2, 'the heading and one entry');

  const [entry] = await read('/jb/audit/?action=user.update');
  assert.equal([entry?.actor, entry?.target], ['admin@acme.test', 'grace@acme.test']);
  return 'Alex Acme changed Murray to Hopper';
};
