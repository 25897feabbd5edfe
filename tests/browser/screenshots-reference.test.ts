import { browserSuite } from '../support/browser.ts';
import { logInByForm, openClient, openReference, sendRequest } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';

const appearance = browserSuite('appearance of the API reference');

testAppearance(appearance, {
  reference: openReference,
  'reference-try': async (page) => {
    await logInByForm(page);
    await openClient(page);
    await sendRequest(page);
    await page.getByText('200 OK').waitFor();
  },
});

appearance.run();
