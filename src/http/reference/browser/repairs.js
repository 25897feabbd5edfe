/**
 * What Scalar's markup leaves out for those who hear a page instead of seeing it, put in as it appears. Each rule takes
 * what it repairs out of its own selector, so that nothing is done twice. As of Scalar 1.72.
 */
const RULES = {
  '[role="combobox"]:not([aria-expanded])': (field) => field.setAttribute('aria-expanded', 'false'),
  '.code-input-lite__editor:not([aria-label])': (field) => {
    const label = document.querySelector(`label[for="${CSS.escape(field.parentElement.id)}"]`);
    field.setAttribute('aria-label', label?.textContent || field.dataset.placeholder || 'Value');
  },
  '.cm-content:not([aria-label])': (editor) =>
    editor.setAttribute(
      'aria-label',
      editor.isContentEditable ? 'Body of the request' : 'Body of the answer',
    ),
  'button[class*="copy-button"]:not([aria-label])': (button) => button.setAttribute('aria-label', 'Copy'),
  'button[class*="copy-button"][aria-controls]': (button) => {
    if (!document.getElementById(button.getAttribute('aria-controls')))
      button.removeAttribute('aria-controls');
  },
  // Who speaks to the computer says what they read.
  'button.show-more[aria-label^="Show all"]': (button) => {
    const read = button.textContent.trim();
    button.setAttribute('aria-label', `${read}: ${button.getAttribute('aria-label')}`);
  },
  'button[role="none"]': (button) => button.removeAttribute('role'),
  '.response-card[role="region"]': (card) => card.setAttribute('role', 'group'),
  'ul.endpoints:not([tabindex])': (list) => list.setAttribute('tabindex', '0'),
  '.scalar-app-layout section[aria-label^="Notifications"]': (section) =>
    section.setAttribute('aria-label', `Request: ${section.getAttribute('aria-label')}`),
};

/** Behind an open dialog nothing can be reached, nor is there a second main part of the page. */
const closeOffBackground = () => {
  const page = document.querySelector('main.references-rendered');
  const isOpen = document.querySelector('.scalar-client--open') !== null;
  if (page && page.inert !== isOpen) page.inert = isOpen;
};

const repair = () => {
  for (const [selector, rule] of Object.entries(RULES)) document.querySelectorAll(selector).forEach(rule);
  closeOffBackground();
};

let isAwaited = false;
new MutationObserver(() => {
  if (isAwaited) return;
  isAwaited = true;
  requestAnimationFrame(() => {
    isAwaited = false;
    repair();
  });
}).observe(document.body, {
  subtree: true,
  childList: true,
  attributeFilter: ['aria-expanded', 'aria-label', 'role', 'style', 'class'],
});
