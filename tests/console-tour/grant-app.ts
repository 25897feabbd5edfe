import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import { ACCEPTING } from './accept-invitations.ts';
import type { Tour } from './tour.ts';

const COUNT = ACCEPTING.length;
const CHURN = 'Qm3vR8pa';

const countGranted = async ({ read }: Tour): Promise<number> =>
  (await read('/jb/users/?search=berlin.test')).filter(
    ({ apps }) => Array.isArray(apps) && apps.includes(CHURN),
  ).length;

export const grantApp = async (tour: Tour): Promise<string> => {
  const { page, screenshot } = tour;
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await waitForHeading(page, 'People');
  await page.getByRole('searchbox', { name: 'Search people' }).fill('berlin.test');
  await page.getByText(`${COUNT} people`).waitFor();
  await page.getByRole('checkbox', { name: 'Select all who match' }).check();
  await page.getByRole('button', { name: 'Grant apps' }).click();
  await page.getByRole('checkbox', { name: 'Churn' }).check();
  await page.getByRole('dialog').getByRole('button', { name: 'Grant apps' }).click();
  await page.getByText(`to ${COUNT} people.`).waitFor();
  await screenshot('granted');
  assert.is(await countGranted(tour), COUNT);

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(`Undone: ${COUNT} changes.`).waitFor();
  assert.is(await countGranted(tour), 0);
  return `${COUNT} people could open Churn, until it was undone`;
};
