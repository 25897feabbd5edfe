import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import { waitForData } from '../support/console.ts';
import type { Tour } from './tour.ts';

export const findPerson = async ({ page, screenshot }: Tour): Promise<string> => {
  await waitForHeading(page, 'Hello Alex');
  await page
    .getByRole('listitem')
    .filter({ hasText: /not used/ })
    .waitFor();
  await waitForData(page);
  await screenshot('home');
  await page.emulateMedia({ colorScheme: 'dark' });
  await screenshot('home-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.keyboard.press('/');
  await page.keyboard.type('hop');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Grace Hopper');

  assert.match(decodeURIComponent(page.url()), /\/console\/people\/grace@acme\.test$/);

  await page.keyboard.press('/');
  await page.keyboard.type('hop');
  await page.getByRole('option', { name: 'Grace Hopper' }).waitFor();
  await screenshot('search');
  await page.keyboard.press('Escape');
  return 'Slash, hop and Enter open Grace Hopper';
};
