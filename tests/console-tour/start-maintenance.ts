import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import type { Tour } from './tour.ts';

const MEMBER = 'ada@acme.test';
const MESSAGE = 'We load new numbers until noon.';

export const startMaintenance = async ({ page, read, logIn, screenshot }: Tour): Promise<string> => {
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await page.getByRole('link', { name: 'Sales', exact: true }).click();
  await waitForHeading(page, 'Sales');
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Maintenance…' }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill(MESSAGE);
  await page.getByTitle('Preview of the message').contentFrame().getByText(MESSAGE).waitFor();
  await screenshot('maintenance');
  await page.getByRole('button', { name: 'Start maintenance', exact: true }).click();
  await page.getByText('Maintenance has started.').waitFor();
  const [sales] = (await read('/jb/apps/')).filter(({ slug }) => slug === 'sales');
  assert.is(sales?.in_maintenance, true);

  const member = await logIn(MEMBER);
  await waitForHeading(member, 'Hello Ada');
  await member.getByRole('link', { name: /^Sales/ }).click();
  await waitForHeading(member, 'Sales is in maintenance');
  await member.getByText(MESSAGE).waitFor();
  await screenshot('member', member);
  await member.context().close();
  return `Ada reads "${MESSAGE}" instead of opening Sales`;
};
