import { Loader, Menu, VisuallyHidden } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useEffect, useEffectEvent } from 'react';
import { BarButton, FloatingBar } from './floating-bar.tsx';

/** `isDanger`: whether it ends what people have. */
type Action = { label: string; onClick: () => void; isDanger?: boolean };

type Props = {
  /** Names the region: `Selected people`. */
  label: string;
  /** The selection, such as `3 selected`; null if nothing is selected. */
  text: string | null;
  /** The common actions, as buttons. On phones, all except the first are in the menu. */
  actions: readonly Action[];
  /** Further actions, in the menu. */
  more?: readonly Action[];
  /** The action that is running, such as `Suspend: 3 people…`. */
  busy: string | null;
  onClear: () => void;
};

/**
 * The actions for the selected rows: a bar at the bottom of the window while there is a selection. In the order of the Tab key, it comes
 * right after the table. Escape clears the selection.
 */
export const SelectionBar = ({ label, text, actions, more = [], busy, onClear }: Props) => {
  useEscape(text !== null, onClear);
  const [first, ...others] = actions;
  return (
    <>
      <VisuallyHidden aria-live="polite">
        {busy ?? (text === null ? '' : `${text}. Actions follow the table.`)}
      </VisuallyHidden>
      {text !== null && (
        <FloatingBar label={label}>
          {busy !== null && <Loader size={16} color="currentColor" aria-hidden />}
          <span>{busy ?? text}</span>
          {first && (
            <BarButton disabled={busy !== null} onClick={first.onClick}>
              {first.label}
            </BarButton>
          )}
          {others.map((action) => (
            <BarButton key={action.label} disabled={busy !== null} onClick={action.onClick} visibleFrom="sm">
              {action.label}
            </BarButton>
          ))}
          <MoreMenu wide={others} always={more} />
          <BarButton onClick={onClear}>Clear</BarButton>
        </FloatingBar>
      )}
    </>
  );
};

/** Whether Escape would close something else. */
const isLayerOpen = (): boolean =>
  [...document.querySelectorAll('[role=dialog], [role=menu], [role=listbox]')].some((layer) =>
    layer.checkVisibility(),
  );

/** If Escape closes a dialog or a menu, the selection stays. */
const useEscape = (isActive: boolean, onClear: () => void): void => {
  const clear = useEffectEvent(onClear);
  useEffect(() => {
    if (!isActive) return;
    const onKeyDown = ({ key, target, defaultPrevented }: KeyboardEvent): void => {
      // If this key has already closed a dialog, the focused element is gone.
      const isTaken = defaultPrevented || isLayerOpen() || !(target as Node).isConnected;
      if (key === 'Escape' && !isTaken) clear();
    };
    // Runs before others handle the key and close their dialog or menu.
    document.addEventListener('keydown', onKeyDown, { capture: true });
    return () => document.removeEventListener('keydown', onKeyDown, { capture: true });
  }, [isActive]);
};

/** @param wide actions that are buttons if there is room */
const MoreMenu = ({ wide, always }: { wide: readonly Action[]; always: readonly Action[] }) => {
  if (wide.length + always.length === 0) return null;
  return (
    <Menu position="top-end">
      <Menu.Target>
        <BarButton px={8} aria-label="Further actions" {...(always.length === 0 && { hiddenFrom: 'sm' })}>
          <IconDots size={16} aria-hidden />
        </BarButton>
      </Menu.Target>
      <Menu.Dropdown>
        {wide.map(({ label, onClick, isDanger }) => (
          <Menu.Item key={label} hiddenFrom="sm" onClick={onClick} {...(isDanger && { color: 'red' })}>
            {label}
          </Menu.Item>
        ))}
        {always.map(({ label, onClick, isDanger }) => (
          <Menu.Item key={label} onClick={onClick} {...(isDanger && { color: 'red' })}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};
