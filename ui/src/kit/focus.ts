// After a change of route the new page's heading is to get the focus, whenever it comes.
let isWished = false;

export function wishFocus(): void {
  isWished = true;
}

export function takeFocusWish(): boolean {
  const was = isWished;
  isWished = false;
  return was;
}
