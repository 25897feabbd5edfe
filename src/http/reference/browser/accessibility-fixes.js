/**
 * Accessibility fixes for Scalar's markup (as of Scalar 1.72), applied whenever the DOM changes. After a fix, the element
 * no longer matches the selector, so that no fix is applied twice.
 */
const FIXES = {
  '[role="combobox"]:not([aria-expanded])': (field) => field.setAttribute('aria-expanded', 'false'),
  '.code-input-lite__editor:not([aria-label])': (field) => {
    const label = document.querySelector(`label[for="${CSS.escape(field.parentElement.id)}"]`);
    field.setAttribute('aria-label', label?.textContent || field.dataset.placeholder || 'Value');
  },
  '.cm-content:not([aria-label])': (editor) =>
    editor.setAttribute('aria-label', editor.isContentEditable ? 'Request body' : 'Response body'),
  'button[class*="copy-button"]:not([aria-label])': (button) => button.setAttribute('aria-label', 'Copy'),
  'button[class*="copy-button"][aria-controls]': (button) => {
    if (!document.getElementById(button.getAttribute('aria-controls')))
      button.removeAttribute('aria-controls');
  },
  // Voice control needs the visible label at the start of the name (WCAG 2.5.3).
  'button.show-more[aria-label^="Show all"]': (button) => {
    const visibleLabel = button.textContent.trim();
    button.setAttribute('aria-label', `${visibleLabel}: ${button.getAttribute('aria-label')}`);
  },
  'button:is([role="none"], [role="alert"])': (button) => button.removeAttribute('role'),
  '.response-card[role="region"]': (card) => card.setAttribute('role', 'group'),
  'ul.endpoints:not([tabindex])': (list) => list.setAttribute('tabindex', '0'),
  '.scalar-app-layout section[aria-label^="Notifications"]': (section) =>
    section.setAttribute('aria-label', `Request: ${section.getAttribute('aria-label')}`),
};

/** Makes the page inert behind an open dialog, which contains a main landmark too. */
const updateInertBackground = () => {
  const page = document.querySelector('main.references-rendered');
  const isOpen = document.querySelector('.scalar-client--open') !== null;
  if (page && page.inert !== isOpen) page.inert = isOpen;
};

const applyFixes = () => {
  for (const [selector, fix] of Object.entries(FIXES)) document.querySelectorAll(selector).forEach(fix);
  updateInertBackground();
};

let isScheduled = false;
new MutationObserver(() => {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    applyFixes();
  });
}).observe(document.body, {
  subtree: true,
  childList: true,
  attributeFilter: ['aria-expanded', 'aria-label', 'role', 'style', 'class'],
});
