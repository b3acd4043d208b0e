//! English words for the Chinese ones that people ask for tools with.

/// A Chinese word and the English words that tools say it with, one entry after the other.
pub(super) const WORDS: &str = "
    发送 send; 发 send; 发布 publish post; 发消息 send message; 群发 send bulk; 邮件 email mail
    邮箱 email mailbox; 收件箱 inbox email; 附件 attachment; 短信 sms message; 消息 message
    通知 notification notify; 提醒 reminder; 聊天 chat message; 群组 group; 频道 channel; 评论 comment
    回复 reply; 转发 forward; 联系人 contact; 电话 phone call; 删除 delete remove; 删掉 delete remove; 删 delete
    移除 remove; 清空 clear empty; 清除 clear; 创建 create; 新建 create new; 建立 create; 建 create
    生成 generate create; 制作 create make; 添加 add; 增加 add; 加入 add join; 插入 insert; 追加 append
    更新 update; 修改 edit update modify; 编辑 edit; 更改 change; 改 change edit; 替换 replace; 设置 set
    配置 config configuration; 获取 get; 取得 get; 拿到 get; 得到 get; 抓取 fetch scrape; 爬取 crawl scrape
    读取 read; 读 read; 阅读 read; 查看 view get show; 看看 view show; 看 view; 显示 show display
    展示 show display; 打开 open; 关闭 close; 列出 list; 列表 list; 所有 all list; 全部 all list; 有哪些 list
    哪些 list; 搜索 search; 搜 search; 查找 find search; 查询 query search; 查 search query; 寻找 find
    找到 find; 找 find search; 检索 search retrieve; 匹配 match; 过滤 filter; 筛选 filter; 排序 sort; 文件 file
    文件夹 folder directory; 目录 directory; 子目录 directory; 目录树 directory tree; 路径 path; 文档 document
    文本 text; 文字 text; 内容 content; 全文 content text; 大小 size; 元数据 metadata info
    属性 attribute property info; 权限 permission allowed; 允许 allowed; 信息 info information; 详情 detail info
    详细 detail; 图片 image picture; 图像 image; 照片 photo image; 截图 screenshot; 截屏 screenshot; 视频 video
    电影 movie; 音频 audio; 音乐 music; 歌曲 song music; 歌词 lyrics; 媒体 media; 语音 speech voice
    声音 audio sound; 二进制 binary media; 字幕 subtitle transcript; 写入 write; 写 write; 保存 save write
    存 save store; 存储 store; 覆盖 overwrite write; 复制 copy; 拷贝 copy; 移动 move; 挪 move
    重命名 rename move; 改名 rename move; 转换 convert; 换算 convert; 转成 convert; 转为 convert; 换成 convert
    换 change convert; 翻译 translate; 语言 language; 计算 calculate; 算 calculate; 求和 sum; 平均 average mean
    统计 statistics count; 数量 count number; 多少 count; 比较 compare diff; 对比 compare diff
    差异 diff difference; 区别 difference; 运行 run; 执行 execute run; 启动 start; 开始 start; 停止 stop
    结束 end stop; 取消 cancel; 检查 check; 验证 verify validate; 校验 validate; 测试 test
    分析 analyze analysis; 总结 summarize summary; 摘要 summary abstract; 概括 summarize; 解释 explain
    描述 describe description; 说明 describe explain; 推荐 recommend; 建议 suggest suggestion
    预测 predict forecast; 识别 recognize detect; 检测 detect; 提取 extract; 解析 parse; 计划 plan schedule
    规划 plan; 日程 schedule calendar; 日历 calendar; 会议 meeting event; 预约 appointment booking
    预订 booking reserve; 活动 event activity; 任务 task; 待办 todo task; 项目 project
    问题 issue question problem; 工单 ticket issue; 工作 job work; 职位 job; 招聘 job hiring; 简历 resume
    价格 price; 股价 stock price; 股票 stock; 行情 quote price; 基金 fund; 汇率 exchange rate currency
    货币 currency; 加密货币 crypto cryptocurrency; 比特币 bitcoin crypto; 金融 finance financial
    财务 financial finance; 财报 financial statement earnings; 利润 income profit; 订单 order; 商品 product item
    产品 product; 购买 buy purchase; 下单 order; 购物 shopping; 支付 payment pay; 付款 payment pay; 发票 invoice
    退款 refund; 库存 inventory stock; 优惠 coupon discount; 客户 customer; 用户 user; 账号 account
    账户 account; 个人资料 profile; 公司 company; 企业 company business; 员工 employee; 部门 department
    团队 team; 成员 member; 天气 weather; 预报 forecast; 气温 temperature weather; 温度 temperature
    空气质量 air quality; 地图 map; 地址 address; 位置 location; 地点 place location; 坐标 coordinates geocode
    附近 nearby around; 周边 around nearby; 路线 route direction; 导航 navigation direction; 距离 distance
    驾车 driving direction; 步行 walking direction; 骑行 bicycling direction; 公交 transit bus
    地铁 subway transit; 火车票 train ticket; 火车 train; 车票 ticket train; 车站 station; 高铁 train
    航班 flight; 机票 flight ticket; 机场 airport; 酒店 hotel; 旅行 travel trip; 旅游 travel tour
    行程 itinerary trip; 景点 attraction place; 餐厅 restaurant; 美食 food restaurant; 食谱 recipe; 菜谱 recipe
    做菜 cook recipe; 菜 dish recipe; 食材 ingredient; 营养 nutrition; 健康 health; 医生 doctor medical
    医院 hospital; 药品 drug medicine; 药物 drug; 疾病 disease; 房子 house property; 房产 property estate
    租房 rent; 汽车 car vehicle; 新闻 news; 头条 headline news; 热点 trending hot; 热榜 trending hot rank
    热搜 trending hot; 热门 trending popular; 排行 rank ranking; 排行榜 rank ranking; 文章 article
    博客 blog post; 论文 paper arxiv; 学术 academic scholar; 研究 research; 引用 citation; 书籍 book; 图书 book
    书 book; 网站 website site; 网页 webpage web page; 网址 url; 链接 link url; 互联网 internet web
    网上 web online; 浏览器 browser; 点击 click; 表单 form; 标签页 tab; 页面 page; 下载 download; 上传 upload
    导入 import; 导出 export; 备份 backup; 恢复 restore; 数据库 database sql; 数据表 table
    表格 table spreadsheet excel; 表结构 schema describe table; 结构 schema structure; 表 table
    字段 column field; 列 column list; 行 row line; 记录 record entry; 数据 data; 语句 query statement sql
    工作表 worksheet sheet; 电子表格 spreadsheet excel; 单元格 cell; 公式 formula; 透视表 pivot table
    幻灯片 slide presentation; 演示文稿 presentation ppt; 段落 paragraph; 标题 title heading; 页眉 header
    脚注 footnote; 字体 font format; 格式 format; 提交 commit submit; 提交记录 commit log history
    提交历史 commit log history; 仓库 repository repo; 代码库 repository; 分支 branch; 切换 checkout switch
    暂存 stage add staged; 暂存区 staged stage; 未暂存 unstaged; 撤销 reset undo; 重置 reset
    回滚 rollback reset; 合并 merge; 合并请求 merge request pull; 拉取 pull; 推送 push; 克隆 clone
    版本 version revision; 标签 tag label; 改动 changes diff; 变更 changes diff; 状态 status; 历史 history log
    日志 log; 工作区 working tree; 工作树 working tree; 代码 code; 脚本 script; 函数 function; 命令 command
    终端 terminal command; 错误 error; 调试 debug; 部署 deploy; 容器 container; 服务器 server; 服务 service
    接口 api; 请求 request; 网络 network; 域名 domain; 图表 chart; 柱状图 bar chart; 折线图 line chart
    饼图 pie chart; 散点图 scatter chart; 词云 word cloud; 流程图 flow diagram; 思维导图 mind map
    雷达图 radar chart; 漏斗图 funnel chart; 绘制 draw generate plot; 画 draw generate
    可视化 visualization chart; 时间 time; 时区 timezone; 当前 current; 现在 current now; 几点 current time
    日期 date; 今天 today current; 明天 tomorrow; 最新 latest current; 最近 recent; 节假日 holiday
    生日 birthday; 游戏 game; 笑话 joke; 诗 poem; 学习 learn; 课程 course; 考试 exam test; 老师 teacher
    学生 student; 知识图谱 knowledge graph; 知识 knowledge; 图谱 graph; 实体 entity entities; 关系 relation
    观察 observation; 节点 node; 记忆 memory graph; 记住 remember memory; 记下 add observation note; 笔记 note
    备忘 memo note; 洞察 insight; 思考 thinking thought; 思路 thinking thought; 推理 reasoning thinking
    一步一步 step sequential; 一步步 step sequential; 逐步 step sequential; 步骤 step; 压缩 compress zip
    解压 extract unzip; 加密 encrypt; 解密 decrypt; 密码 password; 登录 login; 注册 register; 随机 random
    多个 multiple; 同时 multiple; 批量 batch bulk multiple; 一次 multiple; 二维码 qrcode qr code; 关键词 keyword
    主题 topic; 水印 watermark; 微博 weibo; 微信 wechat; 知乎 zhihu; 抖音 douyin; 小红书 xiaohongshu rednote
    哔哩哔哩 bilibili; 必应 bing; 百度 baidu; 谷歌 google; 高德 amap maps; 开头 head beginning; 结尾 tail end
    末尾 end append; 不存在 new create; 包含 contain; 名字 name; 名称 name; 关键字 keyword pattern
";
