"""Text that would be more than text if the page trusted it."""

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<svg/onload=window.hacked=1>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<style>* { display: none }</style>",
    "<form action=https://evil.example><button>send</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example>",
    "<a href='javascript:window.hacked=1'>go</a>",
    "[go](javascript:window.hacked=1)",
    "[go](JaVaScRiPt:window.hacked=1)",
    "[go](data:text/html,<script>window.hacked=1</script>)",
    "[go](vbscript:x)",
    "![x](https://evil.example/track.png)",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    '<https://evil.example/" onmouseover="window.hacked=1>',
    "```html\n<script>window.hacked = 1</script>\n```",
    "| a |\n|---|\n| <img src=x onerror=window.hacked=1> |",
    "$(window.hacked=1) {{constructor.constructor('window.hacked=1')()}}",
    "\u202etxt.exe\u202c \u0000 \x1b[31m",
)
