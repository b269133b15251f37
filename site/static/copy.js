// Each code block gets a button that copies it, where the browser allows that.
for (const block of navigator.clipboard ? document.querySelectorAll('main pre') : []) {
  const button = document.createElement('button');
  const label = (text) => { button.textContent = text; };
  button.type = 'button';
  button.className = 'copy';
  label('Copy');
  button.addEventListener('click', () => {
    const text = block.querySelector('code') ?? block;
    navigator.clipboard.writeText(text.textContent.trimEnd()).then(() => label('Copied'), () => label('Not copied'));
    setTimeout(label, 2000, 'Copy');
  });
  const frame = document.createElement('div'); // the button stays while the block scrolls
  frame.className = 'frame';
  block.replaceWith(frame);
  frame.append(block, button);
}
