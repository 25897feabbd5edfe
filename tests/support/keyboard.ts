import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { until } from './time.ts';

/** More than the controls of a screen. */
const MAX_STEPS = 120;
const ROLES = ['button', 'tab', 'checkbox', 'radio', 'combobox', 'searchbox', 'textbox'] as const;

/** Moves the focus forward until it is on the control with this name. */
export const tabTo = async (page: Page, name: string | RegExp): Promise<void> => {
  const named = ROLES.map((role) => page.getByRole(role, { name, exact: true })).reduce((all, one) =>
    all.or(one),
  );
  const focused = page.locator(':focus').and(named.or(page.getByLabel(name, { exact: true })));
  for (let steps = 0; (await focused.count()) === 0; steps += 1) {
    assert.ok(steps < MAX_STEPS, `Tab does not reach ${name}`);
    await page.keyboard.press('Tab');
  }
};

/** Moves the focus to a control, and presses a key there. */
export const pressOn = async (page: Page, name: string | RegExp, key = 'Enter'): Promise<void> => {
  await tabTo(page, name);
  await page.keyboard.press(key);
};

/** Opens what the palette finds first for these words. */
export const openByPalette = async (page: Page, words: string): Promise<void> => {
  await page.keyboard.press('Control+K');
  await page.getByRole('combobox', { name: 'Find people' }).waitFor();
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
};

/** Goes down the open list or menu to this choice, and takes it. */
export const chooseByArrows = async (
  page: Page,
  role: 'option' | 'menuitem',
  name: string,
): Promise<void> => {
  const choice = page.getByRole(role, { name, exact: true });
  await choice.waitFor();
  // A list marks its current option, and a menu gives it the focus.
  const current = choice.and(page.locator(':focus, [data-combobox-selected]'));
  for (let steps = 0; (await current.count()) === 0; steps += 1) {
    assert.ok(steps < MAX_STEPS, `The arrow keys do not reach ${name}`);
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  await until(`${name} is chosen`, async () => !(await choice.isVisible()));
};
