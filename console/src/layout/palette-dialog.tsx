import { Modal, Text } from '@mantine/core';
import { type KeyboardEvent, Suspense, useState } from 'react';
import { FocusReturn } from '../components/focus-return.tsx';
import { lazyPart } from '../lazy-part.ts';
import classes from './palette.module.css';
import type { Pressed } from './palette-results.tsx';

const PaletteResults = lazyPart(() => import('./palette-results.tsx'), 'PaletteResults');

const KEYS: Pressed['key'][] = ['ArrowDown', 'ArrowUp', 'Enter'];

const LABEL = 'Find people, groups, apps, settings and actions';
const RESULTS = 'palette-results';

/**
 * The search over everything. The focus stays in the field; arrow keys and the pointer choose a result, and Enter or a click opens it.
 * The results are loaded when it first opens, and answer what was typed until then.
 */
export const PaletteDialog = ({ onClose }: { onClose: () => void }) => {
  const [query, setQuery] = useState('');
  const [pressed, setPressed] = useState<Pressed>();
  const [active, setActive] = useState<string>();
  const type = (text: string): void => {
    setQuery(text);
    setPressed(undefined);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const key = KEYS.find((one) => one === event.key);
    if (event.nativeEvent.isComposing || key === undefined) return;
    event.preventDefault();
    setPressed({ key });
  };
  return (
    <Modal.Root
      opened
      onClose={onClose}
      size={600}
      yOffset={80}
      zIndex={300}
      returnFocus={false}
      {...AT_ONCE}
    >
      <FocusReturn />
      <Modal.Overlay {...AT_ONCE} />
      <Modal.Content aria-label="Search">
        <input
          className={classes.field}
          // biome-ignore lint/a11y/noAutofocus: opened to type; typing right after the shortcut must reach the field
          autoFocus
          data-autofocus
          role="combobox"
          aria-label={LABEL}
          aria-expanded
          aria-controls={RESULTS}
          aria-activedescendant={active}
          autoComplete="off"
          placeholder={LABEL}
          value={query}
          onChange={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <Suspense fallback={<Text className={classes.empty ?? ''}>Searching…</Text>}>
          <PaletteResults
            id={RESULTS}
            query={query}
            pressed={pressed}
            onType={type}
            onActive={setActive}
            onClose={onClose}
          />
        </Suspense>
      </Modal.Content>
    </Modal.Root>
  );
};

const AT_ONCE = { transitionProps: { duration: 0 } };
