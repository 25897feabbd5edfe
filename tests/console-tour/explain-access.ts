import { waitForHeading } from '../support/browser.ts';
import { waitForData } from '../support/console.ts';
import type { Tour } from './tour.ts';

export const explainAccess = async ({ page, screenshot }: Tour): Promise<string> => {
  await page.keyboard.press('/');
  await page.keyboard.type('hop');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Grace Hopper');
  await page.getByRole('button', { name: 'Why? Sales' }).click();
  await page
    .getByRole('dialog', { name: 'Can Grace Hopper open Sales?' })
    .getByText(/^Yes, /)
    .waitFor();
  await waitForData(page);
  await screenshot('why');
  await page.keyboard.press('Escape');
  return 'Grace Hopper may open Sales by a grant';
};
