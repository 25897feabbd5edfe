import {
  Badge,
  Button,
  type CheckboxProps,
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type MenuProps,
  type SelectProps,
} from '@mantine/core';

/** The deep green of the service's pages, from tint to shade; 7 is the accent in light mode, 3 in dark mode. */
const GREEN: MantineColorsTuple = [
  '#eef6f2',
  '#dcebe4',
  '#b5d7c8',
  '#8ed2b6',
  '#63ae93',
  '#428d73',
  '#2c7159',
  '#1c5c4a',
  '#164a3c',
  '#0f382d',
];

/** From paper to ink. Mantine's grays look cold next to the palette of the pages. */
const GRAY: MantineColorsTuple = [
  '#faf8f3',
  '#f2efe7',
  '#eae6dc',
  '#ddd8cb',
  '#cfc8b8',
  '#aaa596',
  '#7f8078',
  '#565a52',
  '#3a3e38',
  '#232822',
];

/** The shades of dark mode, from text to background, with a hint of green. Mantine's are gray. */
const DARK: MantineColorsTuple = [
  '#ecebe4',
  '#c6cbc5',
  '#a8b1aa',
  '#7d8884',
  '#414c49',
  '#2f3836',
  '#252d2b',
  '#141817',
  '#101312',
  '#0b0e0d',
];

/** System fonts, used until the font is loaded, and for scripts that it lacks. */
const FONT =
  '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif';

/** Buttons of irreversible actions. */
const DANGER = {
  background: 'var(--console-danger)',
  hover: 'color-mix(in srgb, var(--console-danger) 88%, var(--mantine-color-text))',
  color: '#ffffff',
};

/** Tinted boxes with a line: alerts, badges and quiet buttons. */
const tinted = (color: string) => ({
  background: `color-mix(in srgb, ${color} 9%, var(--console-card))`,
  hover: `color-mix(in srgb, ${color} 15%, var(--console-card))`,
  border: `1px solid color-mix(in srgb, ${color} 28%, var(--console-card))`,
  color,
});

/** For the variant `light`, by color. */
const LIGHT: Record<string, ReturnType<typeof tinted>> = {
  red: tinted('var(--mantine-color-error)'),
  green: tinted('var(--mantine-color-anchor)'),
  gray: tinted('var(--mantine-color-dimmed)'),
  ...Object.fromEntries(
    ['yellow', 'orange', 'blue'].map((color) => [color, tinted('var(--console-warning)')]),
  ),
};

/** The one small button, for rows and cards. */
const SMALL_BUTTON = {
  root: { '--button-height': '2rem', '--button-fz': '0.8125rem', '--button-padding-x': '0.75rem' },
};
const SMALL_SIZES: unknown[] = ['xs', 'compact-sm', 'compact-xs'];

const CLOSED_UNTIL_ASKED = { defaultProps: { openOnFocus: false } satisfies SelectProps };

export const theme = createTheme({
  colors: { green: GREEN, gray: GRAY, dark: DARK },
  primaryColor: 'green',
  primaryShade: { light: 7, dark: 3 },
  // Mantine chooses the color of the text only for light mode.
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    const isAccent = input.variant === 'filled' && (input.color === undefined || input.color === 'green');
    if (isAccent) return { ...colors, color: 'var(--mantine-primary-color-contrast)' };
    if (input.variant === 'light') return { ...colors, ...LIGHT[String(input.color ?? 'green')] };
    if (input.color !== 'red') return colors;
    if (input.variant === 'subtle') return { ...colors, color: 'var(--mantine-color-error)' };
    return input.variant === 'filled' ? { ...colors, ...DANGER } : colors;
  },
  fontFamily: FONT,
  fontSizes: { xs: '0.75rem', sm: '0.875rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  lineHeights: { xs: '1.35', sm: '1.43', md: '1.43', lg: '1.5', xl: '1.5' },
  headings: {
    fontFamily: FONT,
    fontWeight: '650',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1.125rem', lineHeight: '1.35' },
      h3: { fontSize: '1rem', lineHeight: '1.4' },
      h4: { fontSize: '0.875rem', lineHeight: '1.43' },
    },
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // The arrow of a choice has no meaning for screen readers.
    ComboboxChevron: { defaultProps: { 'aria-hidden': true } },
    Badge: Badge.extend({
      defaultProps: { tt: 'none', fw: 500 },
      vars: () => ({ root: { '--badge-fz': '0.75rem' } }),
      styles: { root: { letterSpacing: 0 } },
    }),
    Button: Button.extend({
      vars: (_theme, { size }) => (SMALL_SIZES.includes(size) ? SMALL_BUTTON : { root: {} }),
    }),
    // The focus starts on the first item: the placeholder is no item, which a menu must not contain.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } satisfies Partial<MenuProps> },
    // Opened on focus, the list of a dialog's first field would cover the dialog, and Escape would close only the list.
    Autocomplete: CLOSED_UNTIL_ASKED,
    MultiSelect: CLOSED_UNTIL_ASKED,
    Select: CLOSED_UNTIL_ASKED,
    TagsInput: CLOSED_UNTIL_ASKED,
    // Dark on mint in dark mode.
    Checkbox: {
      defaultProps: { iconColor: 'var(--mantine-primary-color-contrast)' } satisfies CheckboxProps,
    },
  },
});

/** The palette of the service's pages. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#faf9f5',
    '--mantine-color-text': '#232822',
    '--mantine-color-dimmed': '#596157',
    '--mantine-color-default-border': '#d8d1c1',
    '--mantine-color-placeholder': '#6b7268',
    '--mantine-color-error': '#a12b1d',
    // Red items of menus and red icons.
    '--mantine-color-red-6': '#a12b1d',
    '--mantine-primary-color-contrast': '#ffffff',
    '--mantine-color-disabled': '#ece8de',
    '--mantine-color-disabled-color': '#7b8078',
    '--mantine-color-disabled-border': '#e3ddd0',
    '--console-card': '#ffffff',
    '--console-tint': '#e6efe9',
    '--console-line': '#e6e2d8',
    '--console-field-line': '#8a8577',
    '--console-nav': '#f4f2ec',
    '--console-tag': '#f0ede5',
    '--console-notice': '#fdf3e1',
    '--console-notice-line': '#efdcb8',
    '--console-warning': '#7a5000',
    '--console-danger': '#a12b1d',
  },
  dark: {
    '--mantine-color-body': '#141817',
    '--mantine-color-text': '#ecebe4',
    '--mantine-color-dimmed': '#a8b1aa',
    '--mantine-color-default-border': '#414c49',
    '--mantine-color-placeholder': '#98a29b',
    '--mantine-color-error': '#ffb3a3',
    '--mantine-color-red-6': '#ffb3a3',
    '--mantine-color-anchor': '#8ed2b6',
    '--mantine-primary-color-contrast': '#0c2a20',
    '--console-card': '#1d2322',
    '--console-tint': '#22332d',
    '--console-line': '#313a38',
    '--console-field-line': '#7d8884',
    '--console-nav': '#101413',
    '--console-tag': '#2b3331',
    '--console-notice': '#2a251a',
    '--console-notice-line': '#4d4128',
    '--console-warning': '#f0cf7a',
    '--console-danger': '#b3432f',
  },
});
